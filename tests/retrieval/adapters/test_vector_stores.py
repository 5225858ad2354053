"""Qdrant and Milvus in their local modes: filled, asked, reopened, and collections of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

RIGHT = {f"q{n}": f"w:{n}" for n in range(10)}


def first_pages(run: Run) -> dict[str, str]:
    return {question: pages[0] for question, pages in run.ranked_pages().items()}


@pytest.fixture
def memory() -> Iterator[Any]:
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    yield client
    client.close()


def test_qdrant_is_filled_and_reopened(small: Benchmark, tmp_path: Path, words: Any) -> None:
    pytest.importorskip("qdrant_client")
    from whichone.retrieval.adapters.qdrant import Qdrant

    system = Qdrant.over(small.corpus, tmp_path / "work", encoder=words)
    run = run_retriever(system, small, tmp_path / "run", k=3, name="qdrant")
    assert first_pages(run) == RIGHT
    assert set(run.rankings["passage"].to_pylist()) <= set(small.passages["id"].to_pylist())
    assert run.description["encoder"] == "words"
    vector = words.questions(["word3"])[0].tolist()
    assert system.client.count(system.collection).count == 20
    system.client.close()
    again = Qdrant.over(small.corpus, tmp_path / "work", encoder=words)
    found = again.client.query_points(again.collection, query=vector, limit=2).points
    assert {p.payload["page"] for p in found} == {"w:3"}
    again.client.delete(again.collection, points_selector=[0, 1])
    whole = Qdrant(small.corpus, again.client, encoder=words)
    assert whole.client.count(whole.collection).count == 20
    again.client.close()


def test_vectors_that_are_there_are_not_made_again(
    small: Benchmark, tmp_path: Path, words: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client")
    from whichone.retrieval.adapters.qdrant import Qdrant
    from whichone.retrieval.dense import Dense

    Dense.over(small.corpus, tmp_path, encoder=words)
    monkeypatch.setattr(words, "passages", None)
    system = Qdrant.over(small.corpus, tmp_path, encoder=words)
    (ranking,) = system.search(small.questions()[4:5], 2)
    system.close()
    assert sorted(ranking.passages) == ["w:4#0", "w:4#1"]


def test_a_qdrant_collection_of_yours(small: Benchmark, memory: Any, words: Any) -> None:
    from qdrant_client import models

    from whichone.retrieval.adapters.qdrant import Qdrant

    size = models.VectorParams(size=words.size, distance=models.Distance.COSINE)
    memory.create_collection("mine", vectors_config={"body": size})
    memory.upsert(
        "mine",
        [
            models.PointStruct(
                id=n,
                vector={"body": words.questions([row["text"]])[0].tolist()},
                payload={"doc": row["source_id"]},
            )
            for n, row in enumerate(small.passages.to_pylist())
        ],
    )
    told = {"collection": "mine", "encoder": words, "vector": "body"}
    system = Qdrant(small.corpus, memory, ids="metadata:doc:source", **told)
    (ranking,) = system.search(small.questions()[4:5], 2)
    assert sorted(ranking.passages) == ["w:4#0", "w:4#1"]
    assert memory.count("mine").count == 20
    with pytest.raises(BadInput, match="ids=metadata:doc:source"):
        list(Qdrant(small.corpus, memory, ids="page", **told).search(small.questions()[:1], 2))
    with pytest.raises(UsageError, match="what are the ids"):
        Qdrant(small.corpus, memory, **told)
    with pytest.raises(Missing, match="no collection 'yours'"):
        Qdrant(small.corpus, memory, ids="page", encoder=words, collection="yours")
    with pytest.raises(UsageError, match="one of body"):
        Qdrant(small.corpus, memory, ids="page", encoder=words, collection="mine")


def test_vectors_of_another_size(small: Benchmark, memory: Any, words: Any) -> None:
    from qdrant_client import models

    from whichone.retrieval.adapters.qdrant import Qdrant

    memory.create_collection(
        "short", vectors_config=models.VectorParams(size=3, distance=models.Distance.DOT)
    )
    with pytest.raises(BadInput, match="vectors have 3 numbers, the encoder's 64"):
        Qdrant(small.corpus, memory, collection="short", ids="page", encoder=words)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_milvus_is_filled_and_reopened(small: Benchmark, tmp_path: Path, words: Any) -> None:
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    from whichone.retrieval.adapters.milvus import Milvus

    system = Milvus.over(small.corpus, tmp_path / "work", encoder=words)
    run = run_retriever(system, small, tmp_path / "run", k=3, name="milvus")
    assert first_pages(run) == RIGHT
    assert run.description["ids"] == "metadata:passage"
    told = {"collection": system.collection, "encoder": words}
    by_page = Milvus(small.corpus, system.client, ids="metadata:page", **told)
    (ranking,) = by_page.search(small.questions()[4:5], 2)
    assert ranking.passages == ("w:4",)
    with pytest.raises(BadInput, match="ids=metadata:page:page"):
        list(
            Milvus(small.corpus, system.client, ids="page", **told).search(small.questions()[:1], 2)
        )
    with pytest.raises(Missing, match="no collection 'yours'"):
        Milvus(small.corpus, system.client, ids="page", encoder=words, collection="yours")
    system.client.close()
    again = Milvus.over(small.corpus, tmp_path / "work", encoder=words)
    (ranking,) = again.search(small.questions()[7:8], 1)
    assert ranking.passages[0].startswith("w:7#")
    again.client.close()
