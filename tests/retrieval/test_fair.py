"""A system sees a corpus, never a benchmark: nonsense for gold, sets and answers changes no ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Provenance, Query
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "bm25": ("bm25", {}),
    "tfidf": ("tfidf", {}),
    "title-lookup": ("title-lookup", {}),
    "popular": ("popular", {"knowledge": "KB"}),
    "linker": ("linker", {}),
    "linker, knowledge": ("linker", {"knowledge": "KB"}),
    "bootleg-style": ("bootleg-style", {"knowledge": "KB"}),
    "namesake": ("namesake", {"encoder": "none"}),
    "namesake, knowledge": ("namesake", {"encoder": "none", "knowledge": "KB"}),
}


@pytest.fixture(scope="module")
def amber() -> Benchmark:
    return Benchmark.open("builtin/amber")


@pytest.fixture(scope="module")
def pair(amber: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, Benchmark]:
    """The same questions over the same corpus, once with all that is known of them, once with lies."""
    place = tmp_path_factory.mktemp("fair")
    queries = amber.queries[:: max(1, len(amber.queries) // 120)]
    pages = sorted(amber.pages)
    lies = [_lie(query, pages[n % len(pages)]) for n, query in enumerate(queries)]
    sets = [
        NameSet(
            id=f"lie-{n}",
            name=f"Nobody {n}",
            bearers=(Bearer(entity=f"L{n}", role="head", popularity=9e9, pages=(page,)),),
        )
        for n, page in enumerate(pages[:50])
    ]
    corpus = amber.corpus
    true = save_benchmark(
        place / "true", name="fair", queries=queries, sets=amber.sets, corpus=corpus
    )
    false = save_benchmark(place / "false", name="fair", queries=lies, sets=sets, corpus=corpus)
    return true, false


def _lie(query: Query, page: str) -> Query:
    return msgspec.structs.replace(
        query,
        outputs=(Output(answer="nonsense", provenance=((Provenance(page=page),),)),),
        name="Nobody",
        name_set="lie-0",
        role="head" if query.role == "tail" else "tail",
        relation="P0",
        entity="L0",
        attributes={},
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_nonsense_in_a_benchmark_changes_no_ranking(
    pair: tuple[Benchmark, Benchmark], amber: Benchmark, tmp_path: Path, name: str
) -> None:
    retriever, options = SYSTEMS[name]
    knowledge = str(amber.folder.root.parent / "kb")
    given = {key: knowledge if value == "KB" else value for key, value in options.items()}
    files = []
    for number, benchmark in enumerate(pair):
        system = make_retriever(retriever, benchmark, tmp_path / "work", given)
        run = run_retriever(system, benchmark, tmp_path / f"run-{number}", k=20, name=name)
        files.append((tmp_path / f"run-{number}" / "rankings.parquet").read_bytes())
        sees = run.description.get("sees", ["corpus"])
        assert sees == (["corpus", "knowledge base"] if "KB" in options.values() else ["corpus"])
        assert run.rankings.num_rows
    assert files[0] == files[1]


def test_two_benchmarks_over_one_corpus_share_its_indexes(
    pair: tuple[Benchmark, Benchmark], tmp_path: Path
) -> None:
    true, false = pair
    assert true.corpus.hash == false.corpus.hash
    for benchmark in pair:
        make_retriever("bm25", benchmark, tmp_path / "work", {})
    assert len(list((tmp_path / "work").glob("bm25-*"))) == 1
