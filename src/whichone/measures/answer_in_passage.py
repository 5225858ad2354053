"""Is the answer in a retrieved passage, and is that passage about the right one?

Answer-in-passage counts a namesake's page as a hit when it happens to hold the answer. These measures
look at the first k passages (not pages) and tell such luck from success.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from whichone.measures.matching import Passage, PreparedAnswers, find_matcher
from whichone.measures.measure import Measure, Retrieved, needs_depth
from whichone.records import Query, page_of

REGULAR_EXPRESSIONS = "regular expressions"


@lru_cache(maxsize=4096)
def _prepared(answers: tuple[str, ...], matcher: str) -> PreparedAnswers:
    """The answers that have something to look for: one without tokens would be in every passage."""
    chosen = find_matcher(matcher)
    return chosen.prepare([answer for answer in answers if not chosen.matches_everything(answer)])


def has_answer(query: Query, title: str, text: str) -> bool:
    """DPR's rule: the answer's tokens in the text, or its regular expression where it is one."""
    regular = query.attributes.get("answers_are") == REGULAR_EXPRESSIONS
    prepared = _prepared(query.answers(), "dpr-regex" if regular else "dpr")
    return prepared.found_in(Passage(title, text))


def _hits(retrieved: Retrieved, k: int) -> Iterator[str]:
    """Pages of those among the first k passages that contain an answer."""
    assert retrieved.passage is not None
    for identity in retrieved.passages[:k]:
        passage = retrieved.passage(identity)
        if has_answer(retrieved.query, passage.title, passage.text):
            yield page_of(identity)


def _measure(name: str, k: int | None, value: Callable[[Retrieved, int], float | None]) -> Measure:
    depth = needs_depth(name, k)

    def of(retrieved: Retrieved) -> float | None:
        return value(retrieved, depth) if retrieved.query.answers() else None

    return Measure(name, of, k, needs_text=True)


def answer_in_top(k: int | None) -> Measure:
    """One of the first k passages contains an answer (EntityQuestions' and DPR's top-k accuracy)."""
    return _measure("answer_in_top", k, lambda r, depth: float(any(True for _ in _hits(r, depth))))


def substring_in_top(k: int | None) -> Measure:
    """One of the first k passages contains an answer verbatim (the paper's comparison with REALM)."""

    def value(r: Retrieved, depth: int) -> float:
        assert r.passage is not None
        prepared = _prepared(r.query.answers(), "substring")
        shown = (r.passage(identity) for identity in r.passages[:depth])
        return float(any(prepared.found_in(Passage(p.title, p.text)) for p in shown))

    return _measure("substring_in_top", k, value)


def right_page(k: int | None) -> Measure:
    """One of the first k passages contains an answer and is of a gold page."""

    def value(r: Retrieved, depth: int) -> float | None:
        return float(any(page in r.gold for page in _hits(r, depth))) if r.gold else None

    return _measure("right_page", k, value)


def namesake_answer(k: int | None) -> Measure:
    """One of the first k passages contains an answer and is of another bearer's page."""

    def value(r: Retrieved, depth: int) -> float | None:
        return float(any(page in r.others for page in _hits(r, depth))) if r.others else None

    return _measure("namesake_answer", k, value)


def lucky_hit(k: int | None) -> Measure:
    """Of the queries with an answer in the first k passages: none of those passages is of a gold page."""

    def value(r: Retrieved, depth: int) -> float | None:
        hits = set(_hits(r, depth))
        return float(hits.isdisjoint(r.gold)) if hits and r.gold else None

    return _measure("lucky_hit", k, value)
