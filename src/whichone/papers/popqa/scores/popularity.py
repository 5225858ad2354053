"""Log-popularity and its bins, ten of equal width a relation."""

from __future__ import annotations

import math
from collections.abc import Sequence

BINS = 10


def log_popularity(popularity: float | int | None) -> float | None:
    """The natural logarithm; None where popularity is missing or negative, minus infinity at 0."""
    if popularity is None or math.isnan(popularity) or popularity < 0:
        return None
    return math.log(popularity) if popularity > 0 else -math.inf


def bin_edges(logs: Sequence[float], bins: int = BINS) -> list[float]:
    """Edges of bins of equal width between the least and the greatest finite value.

    A popularity of 0 has no finite logarithm: it moves no edge and falls into the lowest bin.
    """
    finite = [value for value in logs if math.isfinite(value)]
    if not finite:
        return [0.0] * (bins + 1)
    low, high = min(finite), max(finite)
    return [low + (high - low) * step / bins for step in range(bins)] + [high]


def bin_of(value: float, edges: Sequence[float]) -> int:
    """A bin contains its lower edge and not its upper one, except the last, which contains both."""
    for number, upper in enumerate(edges[1:-1]):
        if value < upper:
            return number
    return len(edges) - 2
