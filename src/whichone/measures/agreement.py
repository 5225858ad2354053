"""Agreement between people beyond chance: Cohen's kappa for two, Fleiss' for several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

Ratings = Mapping[str, Mapping[Hashable, Hashable]]
"""For each person what they said of each thing."""


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Two people on the same things; None where there are none, or chance alone agrees fully."""
    n = len(first)
    if not n:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    ones, others = Counter(first), Counter(second)
    expected = sum(ones[c] * others[c] for c in ones) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def mean_cohen_kappa(ratings: Ratings) -> float | None:
    """The mean over all pairs of people who rated the same things, weighted by how many."""
    kappas: list[tuple[float, int]] = []
    for first, other in combinations(sorted(ratings), 2):
        common = [thing for thing in ratings[first] if thing in ratings[other]]
        kappa = cohen_kappa(
            [ratings[first][t] for t in common], [ratings[other][t] for t in common]
        )  # fmt: skip
        if kappa is not None:
            kappas.append((kappa, len(common)))
    weight = sum(n for _, n in kappas)
    return sum(k * n for k, n in kappas) / weight if weight else None


def fleiss_kappa(ratings: Ratings) -> float | None:
    """Several people; things that fewer than two rated do not count, numbers of raters may differ."""
    counts: dict[Hashable, Counter[Hashable]] = {}
    for said in ratings.values():
        for thing, category in said.items():
            counts.setdefault(thing, Counter())[category] += 1
    tables = [c for c in counts.values() if c.total() >= 2]
    if not tables:
        return None
    observed = fmean(
        sum(k * (k - 1) for k in c.values()) / (c.total() * (c.total() - 1)) for c in tables
    )
    every: Counter[Hashable] = Counter()
    for c in tables:
        every.update(c)
    expected = sum((k / every.total()) ** 2 for k in every.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)
