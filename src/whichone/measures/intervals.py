"""Intervals for means, resampled by cluster: seeded, vectorised, the same on every machine."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

REPLICATES = 1000
_CELLS = 4_000_000

Floats = npt.NDArray[np.float64]


class Estimate(msgspec.Struct, frozen=True):
    """A mean with its 95 % interval; `n` values in `clusters` clusters."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int = 0

    def brief(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def bootstrap_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> Estimate:
    """The mean of all values, with a percentile interval over resampled clusters.

    Values that are not numbers (NaN) do not apply and are left out. With fewer than two clusters
    there is no interval. Where every value is 0 or every value is 1 resampling cannot vary, and the
    interval is the exact binomial one over clusters instead.
    """
    numbers = np.asarray(values, np.float64)
    groups = np.arange(len(numbers)) if clusters is None else np.asarray(clusters)
    keep = ~np.isnan(numbers)
    numbers, groups = numbers[keep], groups[keep]
    if not len(numbers):
        return Estimate(None, None, None, 0)
    sums, counts = cluster_sums(numbers, groups)
    value = float(numbers.mean())
    if len(sums) < 2:
        return Estimate(value, None, None, len(numbers), len(sums))
    if np.all(numbers == numbers[0]) and numbers[0] in (0.0, 1.0):
        edge = ((1 - level) / 2) ** (1 / len(sums))
        low, high = (edge, 1.0) if numbers[0] == 1 else (0.0, 1 - edge)
        return Estimate(value, low, high, len(numbers), len(sums))
    means = resampled_means(sums, counts, seed=seed, replicates=replicates)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), len(numbers), len(sums))


def cluster_sums(values: Floats, clusters: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Sum and number of the values of each cluster, clusters in order of first appearance."""
    _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    inverse = rank[inverse]
    return (
        np.bincount(inverse, weights=values, minlength=len(first)).astype(np.float64),
        np.bincount(inverse, minlength=len(first)).astype(np.float64),
    )


def resampled_means(sums: Floats, counts: Floats, *, seed: int, replicates: int) -> Floats:
    """Means over clusters drawn with replacement, `replicates` times."""
    generator = np.random.default_rng(seed)
    size = len(sums)
    step = max(1, _CELLS // size)
    means = np.empty(replicates)
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        drawn = generator.integers(0, size, (rows, size))
        means[start : start + rows] = sums[drawn].sum(1) / counts[drawn].sum(1)
    return means
