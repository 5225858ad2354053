"""Tests between systems: paired, by cluster, seeded, corrected for their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, UsageError
from whichone.measures.clusters import clusters_of
from whichone.measures.intervals import Estimate, cluster_sums, interval
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
