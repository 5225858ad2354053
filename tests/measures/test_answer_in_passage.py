"""Answer-in-passage measures, computed by hand."""

from __future__ import annotations

import pytest

from whichone.errors import UsageError
from whichone.measures.measure import Retrieved
from whichone.measures.ranking_measures import (
    answer_in_top,
    has_answer,
    lucky_hit,
    namesake_answer,
    right_page,
    substring_in_top,
)
from whichone.papers.entityquestions.entityquestions_files import best_possible
from whichone.records import Output, Passage, Provenance, Query

TEXTS = {
    "w:gold#0": "nothing here",
    "w:gold#1": "born in Oslo",
    "w:other#0": "also from Oslo",
    "w:third#0": "Oslo is a city",
}


def find(identity: str) -> Passage:
    page, _, _ = identity.partition("#")
    return Passage(id=identity, page=page, title="t", text=TEXTS[identity])


def retrieved(*passages: str, gold: bool = True, others: bool = True, answer: str = "Oslo") -> Retrieved:
    provenance = ((Provenance(page="w:gold"),),) if gold else ()
    query = Query(id="q", task="qa", input="?", outputs=(Output(answer=answer, provenance=provenance),))
    return Retrieved(
        query=query,
        pages=(),
        gold=query.gold_pages(),
        others=frozenset({"w:other"} if others else ()),
        passages=passages,
        passage=find,
    )


def test_a_namesakes_page_with_the_answer_is_luck() -> None:
    r = retrieved("w:gold#0", "w:other#0", "w:gold#1")
    assert [answer_in_top(k).value(r) for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert [right_page(k).value(r) for k in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert [namesake_answer(k).value(r) for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert [lucky_hit(k).value(r) for k in (1, 2, 3)] == [None, 1.0, 0.0]


def test_an_unrelated_page_with_the_answer_is_luck_too() -> None:
    r = retrieved("w:third#0")
    assert (answer_in_top(1).value(r), namesake_answer(1).value(r), lucky_hit(1).value(r)) == (1.0, 0.0, 1.0)


def test_verbatim_is_case_sensitive_and_may_end_inside_a_word() -> None:
    assert substring_in_top(1).value(retrieved("w:third#0", answer="Osl")) == 1.0
    assert substring_in_top(1).value(retrieved("w:third#0", answer="oslo")) == 0.0


def test_what_does_not_apply_has_no_value() -> None:
    r = retrieved("w:third#0", gold=False, others=False)
    assert right_page(1).value(r) is None
    assert namesake_answer(1).value(r) is None
    assert lucky_hit(1).value(r) is None
    assert answer_in_top(1).value(r) == 1.0


def test_an_answer_without_tokens_is_never_found() -> None:
    assert answer_in_top(1).value(retrieved("w:third#0", answer="\u200b")) == 0.0


def test_regular_expressions_where_the_answers_are_some() -> None:
    query = Query(
        id="q",
        task="qa",
        input="?",
        outputs=(Output(answer=r"19\d\d"),),
        attributes={"answers_are": "regular expressions"},
    )
    assert has_answer(query, "", "in 1964")
    assert not has_answer(query, "", "in 2064")


def test_best_possible_is_a_guess_among_the_bearers_that_fit() -> None:
    r = retrieved()
    assert best_possible(1).value(r) is None
    for verdict, candidates, expected in (("no", 4, 0.25), ("yes", 1, 1.0), ("unknown", 1, 1.0)):
        query = Query(
            id="q", task="qa", input="?", attributes={"resolvable": verdict, "candidates": candidates}
        )
        asked = Retrieved(query=query, pages=(), gold=frozenset(), others=frozenset())
        assert best_possible(1).value(asked) == expected


def test_a_depth_is_needed() -> None:
    with pytest.raises(UsageError, match="right_page@20"):
        right_page(None)
