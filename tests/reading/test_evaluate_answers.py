"""RAG in one call: retrieval and answers together."""

from __future__ import annotations

import pytest

import whichone
from whichone.errors import BadInput, UsageError

BORN = "Where was Orla Vennick born?"


def search(text: str, k: int) -> list[str]:
    """Always the rower, then the town."""
    return ["p:vennick-rower#0", "p:vennick-rower#1", "p:brightwater-town#1"][:k]


def answer(text: str, passages) -> str | None:
    if "Orla" in text:
        return passages[0].text.split()[-1].rstrip(".")
    return None


def test_search_and_answer_together(toy, tmp_path):
    result = whichone.evaluate(search, answer=answer, benchmark=toy, k=2, answers=tmp_path / "a")
    told = result.to_dict()["answers"]["collections"]["toy"]["qa"]
    # of head and tail: Eskby is right for the rower's birthplace, and one word of two for the club
    assert told["measure"] == "amber_f1"
    assert told["all"]["value"] == pytest.approx((0 + 1 + 2 / 3 + 0 + 0) / 5)
    assert told["namesake_head"]["value"] == pytest.approx(1 / 2)  # the botanist's birthplace
    assert told["refusal"]["value"] == pytest.approx(2 / 5)
    assert result.scores.system.endswith("search")
    shown = str(result)
    assert "namesake" in shown and "acc" not in shown.splitlines()[-1]
    assert "<table>" in result._repr_html_() and result._repr_html_().count("<table>") == 3
    from whichone.runs.run import Answers

    assert Answers.open(tmp_path / "a").shown["lonely"] == ("p:vennick-rower#0", "p:vennick-rower#1")


def test_a_whole_rag_in_one_function(toy):
    def rag(text: str):
        return ("Eskby", ["p:vennick-rower#0"]) if "Orla" in text else (None, [])

    result = whichone.evaluate(answer=rag, benchmark=toy)
    document = result.to_dict()
    (system,) = document["retrievers"]
    assert document["retrievers"][system]["toy"]["qa"]["tail"]["value"] == pytest.approx(2 / 3)
    assert document["answers"]["collections"]["toy"]["qa"]["namesake_head"]["value"] == 0.5


def test_pages_as_ids_and_more_measures(toy):
    def rag(text: str):
        return "Eskby", ["p:vennick-rower"]

    result = whichone.evaluate(answer=rag, benchmark=toy, measures=["kilt_em", "em", "acc@5"])
    rows = {r["query"]: r for r in result.answers.scores.rows()}
    assert rows["qa:vennick-rower:birthplace"]["kilt_em"] == 1
    assert rows["qa:vennick-botanist:birthplace"]["em"] == 0
    assert "acc@5" in result.scores.values and "em" not in result.scores.values


def test_another_function_is_asked_again(toy, tmp_path):
    def rowing(text: str):
        return "Eskby", ["p:vennick-rower"]

    def rag(text: str):
        return "Eskby", ["p:brightwater-town"]

    rag.__qualname__ = rowing.__qualname__
    kept = {"benchmark": toy, "run": tmp_path / "run"}
    first = whichone.evaluate(answer=rowing, **kept).to_dict()["retrievers"]
    then = whichone.evaluate(answer=rag, **kept).to_dict()["retrievers"]
    assert first.keys() == then.keys()
    assert first != then


def test_retrieval_alone_is_as_before(toy):
    result = whichone.evaluate(search, benchmark=toy)
    assert result.answers is None and "answers" not in result.to_dict()


def test_bad_use(toy):
    with pytest.raises(UsageError, match="nothing to evaluate"):
        whichone.evaluate(benchmark=toy)
    with pytest.raises(BadInput, match="not in the corpus"):
        whichone.evaluate(answer=lambda t: ("x", ["nowhere#1"]), benchmark=toy)
    with pytest.raises(BadInput, match="ZeroDivisionError"):
        whichone.evaluate(search, answer=lambda t, p: 1 / 0, benchmark=toy)
    with pytest.raises(UsageError, match="a list of names"):
        whichone.evaluate(search, benchmark=toy, measures="acc@1")


def test_what_failed_is_under_the_table(toy):
    def sometimes(text: str, k: int) -> list[str]:
        return search(text, k) if "Orla" in text else [][1]

    result = whichone.evaluate(sometimes, benchmark=toy, on_error="skip")
    assert "9 of 21 questions failed: these count as wrong" in str(result)
