"""The functions of docs/stores.md, as they are written there, over a real PostgreSQL and a real Qdrant."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from word_encoder import Words

from whichone.benchmarks.benchmark import Benchmark
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.runner import run_retriever

PAGE = Path(__file__).resolve().parents[3] / "docs" / "stores.md"
FIRST = {f"q{n}": f"w:{n}" for n in range(10)}


def documented(heading: str, **given: Any) -> Callable[[str, int], Any]:
    """The function that the page shows below a heading."""
    text = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2]
    block = re.search(r"```py\n(.*?)```", text, re.DOTALL)
    assert block is not None
    names = dict(given)
    exec(block[1], names)
    return names["search"]


def encode(text: str) -> list[float]:
    return Words().questions([text])[0].tolist()


def first_pages(search: Callable[[str, int], Any], small: Benchmark, place: Path) -> dict[str, str]:
    run = run_retriever(FunctionRetriever(search), small, place, k=2, name="mine")
    return {question: pages[0] for question, pages in run.ranked_pages().items()}


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    import pgserver

    place = Path(tempfile.mkdtemp(prefix="pg"))  # pytest's own folders are closed to other users
    place.chmod(0o755)
    server = pgserver.get_server(place, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


def test_postgresql_with_pgvector(small: Benchmark, tmp_path: Path, dsn: str) -> None:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as database:
        database.execute("create extension if not exists vector")
        database.execute("create table articles (passage text, meaning vector(64))")
        for passage in small.corpus.passage_records():
            row = (passage.id, str(encode(passage.text)))
            database.execute("insert into articles values (%s, %s)", row)
        database.execute("create index on articles using hnsw (meaning vector_cosine_ops)")
    search = documented("PostgreSQL with pgvector", DSN=dsn, encode=encode)
    assert first_pages(search, small, tmp_path / "run") == FIRST


def test_qdrant(small: Benchmark, tmp_path: Path) -> None:
    from qdrant_client import QdrantClient, models

    store = QdrantClient(path=str(tmp_path / "store"))
    sizes = models.VectorParams(size=64, distance=models.Distance.COSINE)
    store.create_collection("articles", vectors_config=sizes)
    points = [
        models.PointStruct(id=n, vector=encode(p.text), payload={"passage": p.id})
        for n, p in enumerate(small.corpus.passage_records())
    ]
    store.upsert("articles", points)
    store.close()
    search = documented("Qdrant", PLACE=str(tmp_path / "store"), encode=encode)
    assert first_pages(search, small, tmp_path / "run") == FIRST
