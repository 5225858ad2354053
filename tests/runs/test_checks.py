"""What the runner asks of a ranking before it believes it."""

from __future__ import annotations

from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Question, Ranking
from whichone.runs.provenance import RankingCheck

QUESTION = Question(id="q1", text="?")


def checked(small: Benchmark, k: int = 3, **ranking: Any) -> Ranking:
    check = RankingCheck(small.corpus, "passage")
    return check.check(QUESTION, Ranking(**{"question": "q1", **ranking}), k)


def test_a_good_ranking_passes(small: Benchmark) -> None:
    good = {"passages": ("w:1#0", "w:2#1"), "scores": (2.0, 2.0)}
    assert checked(small, **good).passages == good["passages"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"question": "q2"}, "asked q1, answered q2"),
        ({"passages": ("w:1#0",), "scores": (1.0, 2.0)}, "1 ids but 2 scores"),
        ({"passages": ("w:1#0",), "scores": (float("nan"),)}, "not a finite number"),
        ({"passages": ("w:1#0",), "scores": (float("inf"),)}, "not a finite number"),
        ({"passages": ("w:1#0", "w:1#1", "w:2#0", "w:3#0")}, "at most 3"),
        ({"passages": ("w:1#0", "w:1#0")}, "returned twice: w:1#0"),
        ({"passages": ("w:1#0", "w:99#0")}, "not in the corpus: w:99#0"),
        ({"passages": ("w:1#0", "w:2#0"), "scores": (0.1, 0.9)}, "scores rise from 0.1 to 0.9"),
    ],
)
def test_a_bad_ranking_is_named(small: Benchmark, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        checked(small, **wrong)
    assert "q1" in str(caught.value)


def infer(small: Benchmark, *ids: str, strict: bool = True) -> str | None:
    check = RankingCheck(small.corpus)
    check.infer([Ranking(question="q", passages=ids)], strict=strict)
    return check.returns


def test_pages_and_passages_are_told_apart(small: Benchmark) -> None:
    assert infer(small, "w:1", "w:2") == "page"
    assert infer(small, "w:1#0", "w:2#1") == "passage"
    assert infer(small) is None


def test_strangers_are_found_on_the_first_block(small: Benchmark) -> None:
    with pytest.raises(BadInput, match="1 of 2 returned ids are not in the corpus: 17"):
        infer(small, "w:1", "17")
    with pytest.raises(BadInput, match=r"some ids are pages \(w:1\), some are passages \(w:1#0\)"):
        infer(small, "w:1", "w:1#0")
    with pytest.raises(BadInput, match="did you mean w:7"):
        infer(small, "7")
    with pytest.raises(BadInput, match="called w:0#0"):
        infer(small, "17", strict=False)
    assert infer(small, "w:1#0", "17", strict=False) == "passage"


def test_the_other_kind_than_said_is_named(small: Benchmark) -> None:
    check = RankingCheck(small.corpus, "page")
    with pytest.raises(BadInput, match="passages came back where a page was expected: w:1#0"):
        check.check(Question(id="q", text="?"), Ranking(question="q", passages=("w:1#0",)), 3)


def test_the_corpus_own_ids_are_understood(small: Benchmark) -> None:
    check = RankingCheck(small.corpus)
    told = check.translate(Ranking(question="q", passages=("own-3-1", "w:2#0")))
    assert told.passages == ("w:3#1", "w:2#0")


def test_both_kinds_need_a_word(tmp_path: Any) -> None:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.records import Output, Passage, Query

    same = save_benchmark(
        tmp_path / "b",
        name="same",
        queries=[Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))],
        passages=[Passage(id="a", page="a", title="", text="")],
    )
    with pytest.raises(UsageError, match="returns="):
        infer(same, "a")
