"""A benchmark of a few questions over a few pages, for everything that runs retrievers."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query

QUESTIONS = 10


@pytest.fixture
def small(tmp_path: Path) -> Benchmark:
    """Ten pages of two passages; question n is about page n."""
    passages = [
        Passage(
            id=f"w:{n}#{part}",
            page=f"w:{n}",
            title=f"Page {n}",
            text=f"word{n} part{part}",
            source_id=f"own-{n}-{part}",
        )
        for n in range(QUESTIONS)
        for part in range(2)
    ]
    queries = [
        Query(
            id=f"q{n}",
            task="qa",
            input=f"Where is word{n}?",
            outputs=(Output(provenance=((Provenance(page=f"w:{n}"),),)),),
        )
        for n in range(QUESTIONS)
    ]
    sets = [
        NameSet(
            id="s",
            name="Big Word",
            bearers=(
                Bearer(entity="b", pages=("w:2",), popularity=5.0),
                Bearer(entity="a", pages=("w:1", "w:3"), popularity=50.0),
                Bearer(entity="c", pages=("w:4",)),
            ),
        )
    ]
    return save_benchmark(tmp_path / "small", name="small", queries=queries, passages=passages, sets=sets)


@pytest.fixture
def colours(tmp_path: Path) -> Benchmark:
    """Three passages of one or two words, for models whose vectors are known."""
    texts = {"c:1": "red", "c:2": "green", "c:3": "blue red"}
    passages = [Passage(id=f"{p}#0", page=p, title="", text=t) for p, t in texts.items()]
    query = Query(
        id="q", task="qa", input="blue red", outputs=(Output(provenance=((Provenance(page="c:3"),),)),)
    )
    return save_benchmark(tmp_path / "colours", name="colours", queries=[query], sets=[], passages=passages)
