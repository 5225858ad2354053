"""Could anyone have known which bearer of a name a question is about?

"What is George Rankin's occupation?" cannot be resolved when two George Rankins have one. A fact that
the knowledge base does not hold is not a false one, so there are three verdicts:

- no: another bearer of the name has the relation too;
- unknown: none is known to have it, but another bearer is of a type whose members have it (or of no
  known type), so that it may;
- yes: the name is borne once, or the relation does not apply to any other bearer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from whichone.measures.measure import Measure, Retrieved, needs_depth

Verdict = Literal["yes", "no", "unknown"]


class OtherBearer(msgspec.Struct, frozen=True):
    """Another entity of the same name: its types, and whether it has the relation."""

    entity: str
    types: frozenset[str]
    has_relation: bool


class Resolution(msgspec.Struct, frozen=True):
    """The verdict; `candidates` are the bearers, the asked one included, that the question fits."""

    verdict: Verdict
    candidates: int


def resolution(others: Iterable[OtherBearer], types_with_relation: Collection[str]) -> Resolution:
    """The verdict on one question from the other bearers of its name."""
    held = list(others)
    having = sum(other.has_relation for other in held)
    if having:
        return Resolution("no", 1 + having)
    if any(not other.types or not other.types.isdisjoint(types_with_relation) for other in held):
        return Resolution("unknown", 1)
    return Resolution("yes", 1)


def best_expected(verdict: Verdict, candidates: int, k: int) -> float:
    """The most a retriever can be expected to score at depth k with one page a candidate.

    Of questions that fit several bearers it can only guess; what is unknown counts as knowable, so
    the mean is an upper bound.
    """
    return min(1.0, k / candidates) if verdict == "no" else 1.0


def best_possible(k: int | None) -> Measure:
    """The most any retriever can be expected to reach: of a question that fits n bearers, k of n.

    A question of which it is not known whether it can be resolved counts as one that can.
    """
    depth = needs_depth("best_possible", k)

    def value(r: Retrieved) -> float | None:
        verdict = r.query.attributes.get("resolvable")
        if verdict is None:
            return None
        return best_expected(verdict, int(r.query.attributes["candidates"]), depth)

    return Measure("best_possible", value, k)
