"""Ranks of systems: those that a test cannot tell apart share one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whichone.measures.comparison import Comparison, compare
from whichone.measures.measure import Measure
from whichone.measures.scores import Scores

LEVEL = 0.05
LOW_IS_GOOD = ("confused", "failure", "namesake")
"""How the names of measures begin of which less is better."""


def low_is_good(measure: str) -> bool:
    return measure.startswith(LOW_IS_GOOD)


def tied_ranks(
    systems: Sequence[str],
    comparisons: Iterable[Comparison],
    *,
    low_first: bool = False,
    level: float = LEVEL,
) -> dict[str, int]:
    """A system's rank is one more than the number of systems that are significantly better.

    `comparisons` are those of every pair on one measure, corrected together.
    """
    better: dict[str, set[str]] = {system: set() for system in systems}
    for c in comparisons:
        if c.p_holm >= level or c.value_a == c.value_b:
            continue
        b_wins = (c.value_b > c.value_a) is not low_first
        winner, loser = (c.b, c.a) if b_wins else (c.a, c.b)
        better[loser].add(winner)
    return {system: 1 + len(winners) for system, winners in better.items()}


def ranks_of(systems: Sequence[Scores], measure: Measure, *, seed: int = 0) -> dict[str, int]:
    """The ranks of systems on one measure, every pair compared by the paired permutation test."""
    if len(systems) < 2:
        return {s.system: 1 for s in systems}
    result = compare(systems, [measure], seed=seed)
    return tied_ranks([s.system for s in systems], result, low_first=low_is_good(str(measure)))
