"""The rule maps ids to the corpus; one that does not fit is found on the first question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.retrieval.adapters.adapted import Adapted, IdRule, SystemHit, best_first, parse_rule
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever


class Fixed(Adapted):
    """The same hits for every question; remembers what it was asked."""

    def __init__(self, corpus: Corpus, found: Sequence[SystemHit], ids: str) -> None:
        super().__init__(corpus, ids=ids)
        self.found = found
        self.asked: list[int] = []

    def hits(self, texts: list[str], k: int) -> list[Sequence[SystemHit]]:
        self.asked.append(len(texts))
        return [self.found for _ in texts]


@pytest.mark.parametrize(
    ("rule", "hit", "ours"),
    [
        ("passage", SystemHit("w:3#1"), "w:3#1"),
        ("page", SystemHit("w:3"), "w:3"),
        ("source", SystemHit("own-3-1"), "w:3#1"),
        ("title", SystemHit("Page_3"), "w:3"),
        ("metadata:where", SystemHit("x", None, {"where": "w:3"}), "w:3"),
        ("metadata:where", SystemHit("x", None, {"where": "w:3#0"}), "w:3#0"),
        ("metadata:my:field:title", SystemHit("x", None, {"my:field": "Page 3"}), "w:3"),
    ],
)
def test_each_rule(small: Benchmark, rule: str, hit: SystemHit, ours: str) -> None:
    assert IdRule(rule, small.corpus).apply("q", [hit]) == [(ours, None)]


def test_without_ids_of_its_own_source_means_the_page(small: Benchmark, tmp_path: Path) -> None:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.records import Passage

    passages = [Passage(id="w:7#0", page="w:7", title="T", text="x")]
    bare = save_benchmark(tmp_path / "b", name="b", queries=small.queries, passages=passages)
    assert IdRule("source", bare.corpus).apply("q", [SystemHit("7")]) == [("w:7", None)]


def test_chunks_of_one_page_are_one_result_and_are_counted(small: Benchmark) -> None:
    system = Fixed(
        small.corpus, [SystemHit("w:1", 3.0), SystemHit("w:2", 2.0), SystemHit("w:1", 1.0)], "page"
    )
    (ranking,) = system.search(small.questions()[:1], 5)
    assert ranking.passages == ("w:1", "w:2")
    assert ranking.scores == (3.0, 2.0)
    assert ranking.notes == {"several_hits_of_one_id": 1}


def test_a_wrong_rule_is_found_on_the_first_question(small: Benchmark, tmp_path: Path) -> None:
    system = Fixed(small.corpus, [SystemHit("w:1", 3.0, {"title": "Page 1"})], "passage")
    with pytest.raises(BadInput, match=r"no such passage id: 'w:1' \(q0\)") as error:
        run_retriever(system, small, tmp_path / "run", k=5, name="fixed")
    assert system.asked == [1]
    assert "ids=page, ids=metadata:title:title" in str(error.value)


def test_a_field_that_is_not_there_names_those_that_are(small: Benchmark) -> None:
    rule = IdRule("metadata:doc", small.corpus)
    with pytest.raises(BadInput, match=r"no 'doc' in its metadata \(page\)") as error:
        rule.apply("q", [SystemHit("5", None, {"page": "w:1"})])
    assert "ids=metadata:page:page" in str(error.value)


def test_ids_of_another_corpus(small: Benchmark) -> None:
    with pytest.raises(BadInput, match="was this very corpus indexed"):
        IdRule("page", small.corpus).apply("q", [SystemHit("enwiki:307")])


@pytest.mark.parametrize("rule", ["pages", "metadata", "metadata:", ""])
def test_what_is_no_rule(rule: str) -> None:
    with pytest.raises(UsageError, match="is no rule"):
        parse_rule(rule)


def test_distances_become_negative_and_missing_scores_none() -> None:
    assert best_first([0.1, 0.4]) == (-0.1, -0.4)
    assert best_first([0.4, 0.1]) == (0.4, 0.1)
    assert best_first([0.4, None]) == ()


def test_the_rest_is_asked_together(small: Benchmark) -> None:
    system = Fixed(small.corpus, [SystemHit("w:1")], "page")
    assert len(list(system.search(small.questions(), 5))) == 10
    assert len(list(system.search(small.questions(), 5))) == 10
    assert system.asked == [1, 9, 10]


STORES = ["http", "lucene", "mteb", "haystack"]


@pytest.mark.parametrize("name", STORES)
def test_an_unknown_option_is_the_users_mistake(small: Benchmark, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} does not take these options.*nonsense"):
        make_retriever(name, small, tmp_path, {"nonsense": "1"})
