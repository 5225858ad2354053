"""A real PostgreSQL with pgvector, from the wheel of pgserver."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Words
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.adapters.pgvector import PgVector, as_text
from whichone.runs.runner import run_retriever

FIRST = {f"q{n}": f"w:{n}" for n in range(10)}


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    import pgserver

    place = Path(tempfile.mkdtemp(prefix="pg"))  # pytest's own folders are closed to other users
    place.chmod(0o755)
    server = pgserver.get_server(place, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def connection(dsn: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as opened:
        opened.execute("create extension if not exists vector")
        yield opened


def test_a_table_of_the_corpus_is_made_once(
    small: Benchmark, tmp_path: Path, dsn: str, words: Words
) -> None:
    system = PgVector.over(small.corpus, tmp_path, dsn=dsn, encoder=words)  # type: ignore[arg-type]
    run = run_retriever(system, small, tmp_path / "run", k=2, name="pgvector")
    assert {q: pages[0] for q, pages in run.ranked_pages().items()} == FIRST
    assert dsn not in (tmp_path / "run" / "manifest.json").read_text()
    again = PgVector.over(small.corpus, tmp_path, dsn=dsn, encoder=words)  # type: ignore[arg-type]
    assert again.collection == system.collection
    again._connection.execute(f"delete from {again.collection} where number = 3")
    with pytest.raises(BadInput, match="19 rows where the corpus has 20"):
        PgVector.over(small.corpus, tmp_path, dsn=dsn, encoder=words)  # type: ignore[arg-type]
    again._connection.execute(f"drop table {again.collection}")


@pytest.mark.parametrize("distance", ["inner", "cosine", "l2"])
def test_a_table_that_is_there_with_an_index(
    small: Benchmark, tmp_path: Path, connection: Any, words: Words, distance: str
) -> None:
    kind = {"inner": "ip", "cosine": "cosine", "l2": "l2"}[distance]
    connection.execute("drop table if exists articles")
    connection.execute("create table articles (slug text, body text, meaning vector(64))")
    rows = [(p.source_id, p.text) for p in small.corpus.passage_records()]
    for slug, text in rows:
        vector = as_text(words.passages([""], [text])[0])
        connection.execute("insert into articles values (%s, %s, %s)", (slug, text, vector))
    connection.execute(f"create index on articles using hnsw (meaning vector_{kind}_ops)")
    connection.execute("set enable_seqscan = off")
    system = PgVector(
        small.corpus, connection, table="articles", column="meaning", distance=distance, encoder=words,  # type: ignore[arg-type]
        ids="metadata:slug:source",
    )  # fmt: skip
    run = run_retriever(system, small, tmp_path / f"run-{distance}", k=2, name="mine")
    assert {q: pages[0] for q, pages in run.ranked_pages().items()} == FIRST
    (hits,) = system.hits(["word3 part0"], 20)
    assert (hits[0].metadata["slug"], "meaning" in hits[0].metadata) == ("own-3-0", False)
    best = {"inner": 1.0, "cosine": 1.0, "l2": 0.0}[distance]
    assert hits[0].score == pytest.approx(best, abs=1e-3)
    assert [h.score for h in hits] == sorted((h.score or 0 for h in hits), reverse=True)


def test_an_index_gives_more_than_its_default(
    small: Benchmark, connection: Any, words: Words
) -> None:
    connection.execute("drop table if exists many")
    connection.execute("create table many (slug text, embedding vector(64))")
    vectors = words.passages([""] * 200, [f"word{n} part0" for n in range(200)])
    for number, vector in enumerate(vectors):
        row = (f"own-{number % 10}-{number % 2}", as_text(vector))
        connection.execute("insert into many values (%s, %s)", row)
    connection.execute("create index on many using hnsw (embedding vector_ip_ops)")
    connection.execute("set enable_seqscan = off")
    system = PgVector(
        small.corpus,
        connection,
        table="many",
        encoder=words,
        ids="metadata:slug:source",  # type: ignore[arg-type]
    )
    (hits,) = system.hits(["part0"], 100)
    assert len(hits) > 80  # a graph may miss some; by default it gives 40


def test_mistakes(small: Benchmark, tmp_path: Path, connection: Any, words: Words) -> None:
    with pytest.raises(UsageError, match="what are the ids"):
        PgVector(small.corpus, connection, table="articles", encoder=words)  # type: ignore[arg-type]
    with pytest.raises(Missing, match="nothing_here"):
        PgVector(
            small.corpus, connection, table="nothing_here", encoder=words, ids="metadata:slug:page"
        )  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="inner, cosine, l2"):
        PgVector(small.corpus, connection, distance="hamming", encoder=words)  # type: ignore[arg-type]
    connection.execute("create table narrow (slug text, embedding vector(3))")
    connection.execute("insert into narrow values ('a', '[1,2,3]')")
    with pytest.raises(BadInput, match="its vectors have 3 numbers, the encoder's 64"):
        PgVector(small.corpus, connection, table="narrow", encoder=words, ids="metadata:slug:page")  # type: ignore[arg-type]
    with pytest.raises(Missing, match="does not answer"):
        PgVector.over(small.corpus, tmp_path, dsn="host=127.0.0.1 port=1 connect_timeout=2")
