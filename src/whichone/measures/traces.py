"""Measures of what an agent did: where a namesake came in, whether a later search corrected it, what was asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from whichone.measures.measure import Answered, Measure, no_depth
from whichone.measures.retrieval import kind_of_page
from whichone.records import Call, Trace, page_of

Step = Literal["gold", "namesake", "neither"]


def step_of(call: Call, gold: frozenset[str], others: frozenset[str]) -> Step:
    """Which of the two a search brought in first."""
    pages = [page_of(p) for p in call.passages]
    kinds = (kind_of_page(page, gold, others) for page in pages)
    return next((kind for kind in kinds if kind != "other"), "neither")


def steps(trace: Trace, gold: frozenset[str], others: frozenset[str]) -> list[Step]:
    return [step_of(call, gold, others) for call in trace.of("search")]


def _of_trace(
    name: str, value: Callable[[Answered, Trace], float | None], greatest: float = 1.0
) -> Measure:
    def measured(answered: Answered) -> float | None:
        return value(answered, answered.trace) if answered.trace is not None else None

    return Measure(name, measured, of="answers", bounds=(0.0, greatest))


def calls(k: int | None) -> Measure:
    """How many calls of tools an agent made."""
    no_depth("calls", k)
    return _of_trace("calls", lambda _, trace: float(len(trace.calls)), math.inf)


def asked_user(k: int | None) -> Measure:
    """The agent asked the user, in the turn or at its end."""
    no_depth("asked_user", k)
    return _of_trace(
        "asked_user", lambda a, trace: float(bool(trace.of("ask_user")) or a.asks is not None)
    )


def search_confused(k: int | None) -> Measure:
    """Some search of the agent brought a namesake in before gold."""
    no_depth("search_confused", k)

    def value(answered: Answered, trace: Trace) -> float | None:
        if not answered.others:
            return None
        return float("namesake" in steps(trace, answered.gold, answered.others))

    return _of_trace("search_confused", value)


def search_mended(k: int | None) -> Measure:
    """After a search that brought a namesake in first, a later one brought gold in first.

    It applies where some search was confused.
    """
    no_depth("search_mended", k)

    def value(answered: Answered, trace: Trace) -> float | None:
        seen = steps(trace, answered.gold, answered.others)
        if "namesake" not in seen:
            return None
        return float("gold" in seen[seen.index("namesake") :])

    return _of_trace("search_mended", value)
