"""Ranks of systems: one more than the number of those that a test finds better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.measures.comparison import PERMUTATIONS, Comparison, compare, holm, permutation_p
from whichone.measures.intervals import cluster_sums
from whichone.measures.measure import Measure
from whichone.measures.scores import Scores

LEVEL = 0.05
LOW_IS_GOOD = ("confused", "failure", "namesake")
"""How the names of measures begin of which less is better."""


def low_is_good(measure: str) -> bool:
    return measure.startswith(LOW_IS_GOOD)


RULE = (
    "a rank is one more than the number of systems that are significantly better (paired permutation test by cluster, "
    f"Holm-corrected over all pairs, p < {LEVEL}), so systems that cannot be distinguished from the best share rank 1"
)
"""The rule of `tied_ranks` in words, for notes below tables."""


def tied_ranks(
    systems: Sequence[str],
    comparisons: Iterable[Comparison],
    *,
    low_first: bool = False,
    level: float = LEVEL,
) -> dict[str, int]:
    """Ranks, best first: one more than the number of systems that are significantly better.

    Two systems of different ranks need not differ significantly: only somebody above them does. A system with
    the larger figure can have the worse rank where it has the smaller spread, so that more are known to be better.
    `comparisons` are those of every pair on one measure, corrected together; a pair without one counts as equal.
    """
    ranks = dict.fromkeys(systems, 1)
    for c in comparisons:
        if c.p_holm < level and c.value_a != c.value_b:
            worse = c.b if (c.value_a > c.value_b) != low_first else c.a
            if worse in ranks:
                ranks[worse] += 1
    return ranks


def ranks_of(systems: Sequence[Scores], measure: Measure, *, seed: int = 0) -> dict[str, int]:
    """The ranks of systems on one measure, every pair compared by the paired permutation test."""
    if len(systems) < 2:
        return {s.system: 1 for s in systems}
    result = compare(systems, [measure], seed=seed)
    return tied_ranks([s.system for s in systems], result, low_first=low_is_good(str(measure)))


def better_systems(
    values: Mapping[str, npt.NDArray[np.floating[Any]]],
    clusters: npt.NDArray[Any],
    *,
    level: float = LEVEL,
) -> dict[str, list[str]]:
    """For each system those that are significantly better, of many systems by their values of every query.

    The same tests as `compare` makes of one measure; more is better.
    """
    names = sorted(values)
    pairs = [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]
    totals, p_values = [], []
    for a, b in pairs:
        differences = values[a].astype(np.float64) - values[b]
        keep = ~np.isnan(differences)
        sums, _ = cluster_sums(differences[keep], clusters[keep])
        totals.append(float(sums.sum()))
        p_values.append(_p(sums))
    better: dict[str, list[str]] = {name: [] for name in names}
    for (a, b), total, p in zip(pairs, totals, holm(p_values), strict=True):
        if p < level and total:
            above, below = (a, b) if total > 0 else (b, a)
            better[below].append(above)
    return better


def _p(sums: npt.NDArray[np.float64]) -> float:
    """The permutation test's p; where no drawing could show how small it is, Hoeffding's bound on it.

    Drawing 10,000 times gives no p below 1/10,001, which the correction for 500 pairs, of 33 systems, makes 0.05.
    """
    squares = float((sums**2).sum())
    bound = 2 * math.exp(-(float(sums.sum()) ** 2) / (2 * squares)) if squares else 1.0
    return bound if bound < 1 / (PERMUTATIONS + 1) else permutation_p(sums)
