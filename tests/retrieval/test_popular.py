"""`popular`: the caricature that always answers with the most viewed bearer."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import UsageError
from whichone.records import NameSet, Output, Passage, Query, Question
from whichone.retrieval.popular import Popular
from whichone.runs.retrieve import make_retriever


def ask(retriever: Popular, text: str, k: int = 10) -> tuple[str, ...]:
    (ranking,) = retriever.search([Question(id="q", text=text)], k)
    return ranking.passages


def test_most_viewed_first_unknown_last(small: Benchmark, tmp_path: Path) -> None:
    retriever = Popular.for_benchmark(small, tmp_path)
    assert ask(retriever, "Who is the BIG  word's father?") == ("w:1", "w:3", "w:2", "w:4")
    assert ask(retriever, "Who is Big Word?", 2) == ("w:1", "w:3")
    assert ask(retriever, "Who is Big?") == ()


def test_the_longest_name_wins() -> None:
    from whichone.records import Bearer

    retriever = Popular(
        [
            NameSet(id="1", name="Paris", bearers=(Bearer(entity="x", pages=("p:1",)),)),
            NameSet(id="2", name="Paris Hilton", bearers=(Bearer(entity="y", pages=("p:2",)),)),
        ]
    )
    assert ask(retriever, "Is Paris Hilton in Paris?") == ("p:2",)


def test_without_sets_nobody_is_popular(tmp_path: Path) -> None:
    bare = save_benchmark(
        tmp_path / "b",
        name="bare",
        queries=[Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))],
        passages=[Passage(id="a#0", page="a", title="", text="")],
    )
    with pytest.raises(UsageError, match="no name sets"):
        make_retriever("popular", bare, tmp_path, {})
    with pytest.raises(UsageError, match="does not take"):
        make_retriever("popular", bare, tmp_path, {"weight": "3"})
