"""Noise in names: the same questions, written as people do."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.derive import KINDS, noisy_benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Output, Passage, Provenance, Query
from whichone.retrieval.namesake.spelling import within_one_edit


def question(number: int, text: str, name: str | None) -> Query:
    gold = (Output(provenance=((Provenance(page="t:x"),),)),)
    return Query(id=f"q{number}", task="qa", input=text, name=name, outputs=gold)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    queries = [
        question(1, "Where was Robert José Lind born?", "Robert José Lind"),
        question(2, "Who wrote it?", None),
    ]
    passages = [Passage(id="t:x#0", page="t:x", title="Robert José Lind", text="A poet.")]
    return save_benchmark(tmp_path / "clear", name="clear", queries=queries, passages=passages)


def test_every_kind(benchmark: Benchmark, tmp_path: Path) -> None:
    noisy = noisy_benchmark(benchmark, tmp_path / "noisy", strongest=2)
    texts = {query.id: query.input for query in noisy.queries}
    assert texts["q1"] == "Where was Robert José Lind born?" and texts["q2"] == "Who wrote it?"
    assert texts["q1~initials1"] == "Where was R. José Lind born?"
    assert texts["q1~initials2"] == "Where was R. J. Lind born?"
    assert texts["q1~order1"] == "Where was Lind, Robert José born?"
    assert texts["q1~order2"] == "Where was Lind Robert José born?"
    assert texts["q1~accents1"] == "Where was Robert Jose Lind born?"
    assert texts["q1~partial2"] == "Where was Lind born?"
    assert texts["q1~possessive1"] == "Where was Robert José Lind's born?"
    assert texts["q1~case1"] == "Where was robert josé lind born?"
    assert texts["q1~nickname1"].split()[2] in ("Bert", "Bob", "Bobby", "Rob")
    before, after = (texts[q].removeprefix("Where was ").removesuffix(" born?") for q in ("q1", "q1~typo1"))
    pairs = list(zip(before.split(), after.split(), strict=True))
    assert sum(a != b for a, b in pairs) == 1 and all(within_one_edit(a, b) for a, b in pairs)
    assert not any(identity.startswith("q2~") for identity in texts)
    kinds = {(q.attributes["noise"], q.attributes["strength"]) for q in noisy.queries}
    assert ("none", 0) in kinds and ("typo", 2) in kinds
    again = noisy_benchmark(benchmark, tmp_path / "again", strongest=2)
    assert [q.input for q in again.queries] == [q.input for q in noisy.queries]


def test_wrong_use(benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean typo"):
        noisy_benchmark(benchmark, tmp_path / "out", kinds=["tpyo"])
    passages = [Passage(id="t:x#0", page="t:x", title="X", text="A poet.")]
    nameless = save_benchmark(
        tmp_path / "nameless", name="n", queries=[question(1, "Who?", None)], passages=passages
    )
    with pytest.raises(BadInput, match="no question contains the name"):
        noisy_benchmark(nameless, tmp_path / "out", kinds=list(KINDS))
