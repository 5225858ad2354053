"""How many names it takes to see a difference, from pilot runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import msgspec
import numpy as np

from whichone.errors import UsageError
from whichone.measures.comparison import check_comparable
from whichone.measures.intervals import FEWEST, cluster_sums
from whichone.measures.measure import Measure
from whichone.measures.scores import Scores


class Needed(msgspec.Struct, frozen=True):
    """For one pair of pilot runs: names in the pilot, and names that the difference takes."""

    measure: str
    a: str
    b: str
    pilot: int
    difference: float
    spread: float
    """Standard deviation of a name's share in the difference."""
    names: int
    smallest: float
    """The difference that the pilot's own number of names would show."""


def names_needed(
    systems: Sequence[Scores],
    measure: Measure,
    difference: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
) -> list[Needed]:
    """Names at which a paired test at `level` finds a true `difference` with probability `power`.

    The spread is the jackknife's over the pilot's names, so names with more questions weigh more, as they do in
    the figures themselves.
    """
    if not 0 < difference <= 1:
        raise UsageError("the difference is a fraction above 0, such as 0.05")
    if not 0 < power < 1:
        raise UsageError("the power is a fraction between 0 and 1, such as 0.8")
    check_comparable(systems)
    normal = NormalDist()
    reach = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)
    estimates = []
    for a, b in combinations(systems, 2):
        values = b.values[str(measure)] - a.values[str(measure)]
        keep = ~np.isnan(values)
        groups = a.clusters
        sums, counts = cluster_sums(values[keep], groups[keep])
        if len(sums) < FEWEST:
            raise UsageError(
                f"{len(sums)} names say too little about {measure}",
                hint=f"a pilot takes {FEWEST} names or more",
            )
        left_out = (sums.sum() - sums) / (counts.sum() - counts)
        mean = sums.sum() / counts.sum()
        spread = math.sqrt((len(sums) - 1) * float(((left_out - mean) ** 2).sum()))
        needed = max(FEWEST, math.ceil((reach * spread / difference) ** 2))
        estimates.append(
            Needed(
                measure=str(measure),
                a=a.system,
                b=b.system,
                pilot=len(sums),
                difference=difference,
                spread=spread,
                names=needed,
                smallest=reach * spread / math.sqrt(len(sums)),
            )
        )
    return estimates
