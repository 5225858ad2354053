"""Ranks of systems: those that a test does not distinguish share one."""

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


RULE = (
    "a new rank begins where every system above is significantly better than every system below (paired permutation "
    f"test by cluster, Holm-corrected, p < {LEVEL}), so systems that are not distinguished share a rank"
)
"""The rule of `tied_ranks` in words, for notes below tables."""


def tied_ranks(
    systems: Sequence[str],
    comparisons: Iterable[Comparison],
    *,
    low_first: bool = False,
    level: float = LEVEL,
) -> dict[str, int]:
    """Ranks, best first: a new one begins where every system above is significantly better than every system below.

    It is one more than the number of systems above. A third system between two may be significantly different from
    neither of them: all three then share a rank, even where the two differ, as in the clusters of WMT's tables.
    `comparisons` are those of every pair on one measure, corrected together; a pair without one counts as equal.
    """
    values: dict[str, float] = {}
    apart: set[frozenset[str]] = set()
    for c in comparisons:
        values[c.a], values[c.b] = c.value_a, c.value_b
        if c.p_holm < level and c.value_a != c.value_b:
            apart.add(frozenset((c.a, c.b)))
    sign = 1 if low_first else -1
    order = sorted(systems, key=lambda system: (sign * values.get(system, 0.0), system))
    ranks: dict[str, int] = {}
    rank, reach = 1, 0
    for place, system in enumerate(order):
        if place > reach:
            rank = place + 1
        ranks[system] = rank
        alike = [n for n, o in enumerate(order) if frozenset((system, o)) not in apart]
        reach = max(reach, place, *alike)
    return ranks


def ranks_of(systems: Sequence[Scores], measure: Measure, *, seed: int = 0) -> dict[str, int]:
    """The ranks of systems on one measure, every pair compared by the paired permutation test."""
    if len(systems) < 2:
        return {s.system: 1 for s in systems}
    result = compare(systems, [measure], seed=seed)
    return tied_ranks([s.system for s in systems], result, low_first=low_is_good(str(measure)))
