"""Tests between systems: paired, by cluster, seeded, corrected for their number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist, fmean
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, UsageError
from whichone.measures.intervals import FEWEST, Estimate, cluster_sums, clusters_of, interval
from whichone.measures.measure import Measure
from whichone.measures.scores import Scores, subset
from whichone.records import Query

PERMUTATIONS = 10_000

Floats = npt.NDArray[np.float64]


class Comparison(msgspec.Struct, frozen=True):
    """System b against system a on one measure over the same queries.

    `difference` is b minus a with its interval; `p` from the paired permutation test by
    cluster, `p_holm` corrected for all comparisons made together; `effect` is the mean difference of
    the clusters over their standard deviation; wins, ties and losses count queries, from b's side.
    """

    measure: str
    a: str
    b: str
    value_a: float
    value_b: float
    difference: Estimate
    p: float
    p_holm: float
    effect: float | None
    wins: int
    ties: int
    losses: int
    where: dict[str, Any] = {}


def compare(
    systems: Sequence[Scores],
    measures: Sequence[Measure],
    *,
    by: Sequence[str] = (),
    seed: int = 0,
    baseline: str | None = None,
) -> list[Comparison]:
    """Every pair of systems (or each with the baseline) on every measure, Holm-corrected together.

    With `by` in every slice of the queries by these columns or attributes, all corrected together.
    A measure that applies to no query of a slice is left out.
    """
    check_comparable(systems)
    if baseline is not None and baseline not in {s.system for s in systems}:
        raise UsageError(f"no system is called {baseline!r}")
    pairs = [
        (a, b)
        for i, a in enumerate(systems)
        for b in systems[i + 1 :]
        if baseline is None or baseline in (a.system, b.system)
    ]
    if baseline is not None:
        pairs = [(b, a) if b.system == baseline else (a, b) for a, b in pairs]
    comparisons = [
        msgspec.structs.replace(
            _pair(parts[a.system], parts[b.system], m, clusters, seed), where=where
        )
        for where, parts, clusters in _parts(systems, by)
        for m in measures
        for a, b in pairs
    ]
    comparisons = [c for c in comparisons if c.difference.n]
    corrected = holm([c.p for c in comparisons])
    return [
        msgspec.structs.replace(c, p_holm=p) for c, p in zip(comparisons, corrected, strict=True)
    ]


def comparison_rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Rows for a table."""
    return [
        {
            **c.where,
            "measure": c.measure,
            "a": c.a,
            "b": c.b,
            "value a": f"{c.value_a:.3f}",
            "value b": f"{c.value_b:.3f}",
            "b - a": f"{c.difference.value:+.3f}" if c.difference.value is not None else "-",
            "interval": f"[{c.difference.low:.3f}, {c.difference.high:.3f}]"
            if c.difference.low is not None and c.difference.high is not None
            else "-",
            "clusters": str(c.difference.clusters),
            "p": f"{c.p:.4f}",
            "p (Holm)": f"{c.p_holm:.4f}",
            "effect": f"{c.effect:.3f}" if c.effect is not None else "-",
            "b higher/equal/lower": f"{c.wins}/{c.ties}/{c.losses}",
        }
        for c in comparisons
    ]


def _parts(
    systems: Sequence[Scores], by: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Scores], npt.NDArray[np.integer[Any]]]]:
    """For each slice what is common to its queries, every system's part, and the queries' clusters."""
    for where, chosen in slices(systems[0], by):
        parts = {s.system: subset(s, chosen) if by else s for s in systems}
        queries = parts[systems[0].system].queries
        yield where, parts, clusters_of(queries).numbers


def slices(
    scores: Scores, by: Sequence[str]
) -> list[tuple[dict[str, Any], Callable[[Query], bool]]]:
    """What is common to the queries of each slice, and whether a query is in it."""
    readers = [scores.column(name) for name in by]

    def is_in(wanted: tuple[Any, ...]) -> Callable[[Query], bool]:
        return lambda query: tuple(read(query) for read in readers) == wanted

    keys = {tuple(read(query) for read in readers) for query in scores.queries}
    return [
        (dict(zip(by, wanted, strict=True)), is_in(wanted))
        for wanted in sorted(keys, key=lambda key: [(v is None, str(v)) for v in key])
    ]


def check_comparable(systems: Sequence[Scores]) -> None:
    """Refuse systems that were asked different things."""
    if len(systems) < 2:
        raise UsageError("two or more systems are needed for a comparison")
    check_same_benchmark([(s.system, s.benchmark) for s in systems])


def check_same_benchmark(asked: Sequence[tuple[str, str]]) -> None:
    """Systems, each with the benchmark it was run over."""
    if len({benchmark for _, benchmark in asked}) > 1:
        systems_text = ", ".join(f"{system} on {benchmark}" for system, benchmark in asked)
        raise BadInput(
            f"the systems were run over different benchmarks: {systems_text}",
            hint="their queries or corpora differ, so their numbers do not compare; run them on one",
        )


def _pair(
    a: Scores, b: Scores, measure: Measure, names: npt.NDArray[np.integer[Any]], seed: int
) -> Comparison:
    values_a, values_b, clusters = _paired_values(a, b, measure, names)
    differences = values_b - values_a
    sums, counts = cluster_sums(differences, clusters)
    spread = float(np.std(sums / counts, ddof=1)) if len(sums) >= 2 else 0.0
    p = permutation_p(sums, seed=seed)
    return Comparison(
        measure=str(measure),
        a=a.system,
        b=b.system,
        value_a=float(values_a.mean()) if len(values_a) else 0.0,
        value_b=float(values_b.mean()) if len(values_b) else 0.0,
        difference=interval(differences, clusters, bounds=(-1.0, 1.0)),
        p=p,
        p_holm=p,
        effect=float(np.mean(sums / counts)) / spread if spread > 0 else None,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
    )


def _paired_values(
    a: Scores, b: Scores, measure: Measure, names: npt.NDArray[np.integer[Any]]
) -> tuple[Floats, Floats, npt.NDArray[np.integer[Any]]]:
    """Both systems' values where both apply: one a query, or one a name set for all-correct."""
    values_a, values_b = a.values[str(measure)], b.values[str(measure)]
    keep = ~(np.isnan(values_a) | np.isnan(values_b))
    values_a, values_b, names = values_a[keep], values_b[keep], names[keep]
    if measure.aggregate == "mean":
        return values_a, values_b, names
    sets, place = np.unique(names, return_inverse=True)
    lowest_a, lowest_b = np.ones(len(sets)), np.ones(len(sets))
    np.minimum.at(lowest_a, place, values_a)
    np.minimum.at(lowest_b, place, values_b)
    return lowest_a, lowest_b, sets


def permutation_p(sums: Floats, *, seed: int = 0, permutations: int = PERMUTATIONS) -> float:
    """Two-sided p of the total difference when each cluster's sign is a coin toss.

    All sign patterns are tried where there are few enough of them; otherwise they are drawn, and the
    observed one counts as one of them, so that p is never 0.
    """
    moved = sums[sums != 0]
    if not len(moved):
        return 1.0
    observed = abs(moved.sum()) * (1 - 1e-12)
    if 2 ** min(len(moved), 62) <= permutations:
        patterns = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((2 * patterns - 1) @ moved) >= observed).mean())
    generator = np.random.default_rng(seed)
    sizes, alike = np.unique(np.abs(moved), return_counts=True)
    if (
        len(sizes) <= len(moved) // 16
    ):  # as many heads as tails are tossed, of clusters that differ alike
        heads = generator.binomial(alike, 0.5, (permutations, len(sizes)))
        hits = int((np.abs((2 * heads - alike) @ sizes) >= observed).sum())
        return (hits + 1) / (permutations + 1)
    hits, step = 0, max(1, 4_000_000 // len(moved))
    for start in range(0, permutations, step):
        signs = generator.integers(0, 2, (min(step, permutations - start), len(moved))) * 2 - 1
        hits += int((np.abs(signs @ moved) >= observed).sum())
    return (hits + 1) / (permutations + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction for the number of tests."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return [float(p) for p in corrected]


# Agreement between people beyond chance: Cohen's kappa for two, Fleiss' for several.


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


# How many names it takes to see a difference, from pilot runs.


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


# Ranks of systems: one more than the number of those that a test finds better.


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
