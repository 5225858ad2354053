"""Tests between systems: paired, by cluster, seeded, corrected for their number."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist, fmean
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, UsageError
from whichone.measures.intervals import (
    FEWEST,
    SHALLOW,
    Estimate,
    cluster_sums,
    difference_of_means,
    interval,
    left_out_means,
)
from whichone.measures.measure import Direction, Measure, parse_measure
from whichone.measures.scores import Scores, of_population, subset
from whichone.options import takes
from whichone.records import Query
from whichone.runs.run_options import PowerOptions

PERMUTATIONS = 10_000
LEVEL = 0.05  # What a p corrected for all comparisons must be below

_Floats = npt.NDArray[np.float64]


class Comparison(msgspec.Struct, frozen=True):
    """System b against system a on one measure, each over what `score` takes its figure of.

    `difference` is b minus a with its interval; `p` from the paired permutation test by
    cluster, `p_holm` corrected for all comparisons made together; `effect` is the mean difference of
    the clusters over their standard deviation; wins, ties and losses count queries (name sets, where the measure
    is of these) on which b is better, equal and worse, or higher and lower where neither is better.
    """

    measure: str
    a: str
    b: str
    value_a: float | None
    value_b: float | None
    difference: Estimate
    p: float
    p_holm: float
    effect: float | None
    wins: int
    ties: int
    losses: int
    where: dict[str, Any] = {}
    direction: Direction = "higher"
    # For how many queries a's rankings end above the measure's depth although there may be more.
    shallow_a: int = 0
    shallow_b: int = 0

    @property
    def better(self) -> str | None:
        """The system that the test finds better; None where it distinguishes none, or neither more nor less is better."""
        difference = self.difference.value
        if self.p_holm >= LEVEL or not difference or self.direction == "neither":
            return None
        return self.b if (difference > 0) == (self.direction == "higher") else self.a


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
    A measure that applies to no query of a slice is left out; one that applies to nothing that one of the two did
    has no figure there, no difference, and no test is made.
    """
    check_comparable(systems)
    if baseline is not None and baseline not in {s.system for s in systems}:
        raise UsageError(f"no system is called {baseline!r}")
    pairs = [
        (b, a) if b.system == baseline else (a, b)
        for a, b in combinations(systems, 2)
        if baseline is None or baseline in (a.system, b.system)
    ]
    comparisons = [
        msgspec.structs.replace(
            _pair(parts[a.system], parts[b.system], m, parts[systems[0].system], seed), where=where
        )
        for where, chosen in slices(systems[0], by)
        for parts in [{s.system: subset(s, chosen) if by else s for s in systems}]
        for m in measures
        for a, b in pairs
    ]
    comparisons = [c for c in comparisons if c.difference.n]
    corrected = iter(holm([c.p for c in comparisons if c.difference.value is not None]))
    return [
        c if c.difference.value is None else msgspec.structs.replace(c, p_holm=next(corrected))
        for c in comparisons
    ]


def comparison_rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    return [
        {
            **c.where,
            "measure": c.measure,
            "a": c.a,
            "b": c.b,
            "value a": _figure(c.value_a, c.shallow_a),
            "value b": _figure(c.value_b, c.shallow_b),
            "b - a": _figure(c.difference.value, c.difference.shallow, "+.3f"),
            "interval": f"[{c.difference.low:.3f}, {c.difference.high:.3f}]"
            if c.difference.low is not None and c.difference.high is not None
            else "-",
            "clusters": str(c.difference.clusters),
            "p": f"{c.p:.4f}" if c.difference.value is not None else "-",
            "p (Holm)": f"{c.p_holm:.4f}" if c.difference.value is not None else "-",
            "effect": _figure(c.effect),
            "b better/equal/worse": f"{c.wins}/{c.ties}/{c.losses}" if c.direction != "neither" else "-",
        }
        for c in comparisons
    ]


def _figure(value: float | None, shallow: int = 0, form: str = ".3f") -> str:
    return "-" if value is None else f"{value:{form}}{SHALLOW if shallow else ''}"


def slices(scores: Scores, by: Sequence[str]) -> list[tuple[dict[str, Any], Callable[[Query], bool]]]:
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
    if len(systems) < 2:
        raise UsageError("two or more systems are needed for a comparison")
    check_same_benchmark([(s.system, s.benchmark) for s in systems])


def check_same_benchmark(asked: Sequence[tuple[str, str]]) -> None:
    if len({benchmark for _, benchmark in asked}) > 1:
        systems_text = ", ".join(f"{system} on {benchmark}" for system, benchmark in asked)
        raise BadInput(
            f"the systems were run over different benchmarks: {systems_text}",
            hint="their queries or corpora differ, so their numbers do not compare; run them on one",
        )


def _pair(a: Scores, b: Scores, measure: Measure, numbered: Scores, seed: int) -> Comparison:
    values_a, values_b, clusters = _paired_values(a, b, measure, numbered)
    differences = values_b - values_a
    both = ~np.isnan(differences)
    sums, counts = cluster_sums(differences[both], clusters[both])
    spread = float(np.std(sums / counts, ddof=1)) if len(sums) >= 2 else 0.0
    least, greatest = measure.bounds
    bounds = (least - greatest, greatest - least)
    if both.all():
        p, difference = (permutation_p(sums, seed=seed), interval(differences, clusters, bounds=bounds))
    else:
        of_a, of_b = _sums(values_a, clusters), _sums(values_b, clusters)
        p = swapping_p(of_a, of_b, seed=seed)
        difference = difference_of_means(of_b, of_a, n=len(differences), bounds=bounds)
    shallow = [scores.shallow.get(str(measure), 0) for scores in (a, b)]
    higher, lower = (int((sign * differences > 0).sum()) for sign in (1, -1))
    return Comparison(
        measure=str(measure),
        a=a.system,
        b=b.system,
        value_a=_mean(values_a),
        value_b=_mean(values_b),
        difference=msgspec.structs.replace(difference, shallow=sum(shallow)),
        p=p,
        p_holm=p,
        effect=float(np.mean(sums / counts)) / spread if spread > 0 else None,
        wins=lower if measure.direction == "lower" else higher,
        ties=int((differences == 0).sum()),
        losses=higher if measure.direction == "lower" else lower,
        direction=measure.direction,
        shallow_a=shallow[0],
        shallow_b=shallow[1],
    )


def _mean(values: _Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _paired_values(
    a: Scores, b: Scores, measure: Measure, numbered: Scores
) -> tuple[_Floats, _Floats, npt.NDArray[np.integer[Any]]]:
    """The values of what both systems were asked, with clusters: NaN for one to which the measure does not apply.

    A measure that applies to what a system did (a citation, a confused search) need not apply to both; each
    then keeps its own values, so that its figure is the one that `score` gives.
    """
    values = [scores.values[str(measure)] for scores in (a, b)]
    if unasked := a.unasked | b.unasked:
        asked = np.array([query.id not in unasked for query in a.queries])
        values = [np.where(asked, v, np.nan) for v in values]
    clusters = numbered.numbers_for(measure)
    (values_a, groups), (values_b, _) = (of_population(measure, v, clusters) for v in values)
    keep = ~(np.isnan(values_a) & np.isnan(values_b))
    return values_a[keep], values_b[keep], groups[keep]


def _sums(values: _Floats, clusters: npt.NDArray[np.integer[Any]]) -> tuple[_Floats, _Floats]:
    """The sum and the number of one system's values in every cluster, also in those without one."""
    known = ~np.isnan(values)
    sums, _ = cluster_sums(np.where(known, values, 0.0), clusters)
    counts, _ = cluster_sums(known.astype(np.float64), clusters)
    return sums, counts


def permutation_p(sums: _Floats, *, seed: int = 0, permutations: int = PERMUTATIONS) -> float:
    """Two-sided p of the total difference when each cluster's sign is a coin toss.

    All sign patterns are tried where there are few enough of them; otherwise they are drawn, and the
    observed one counts as one of them, so that p is never 0.
    """
    moved = sums[sums != 0]
    if not len(moved):
        return 1.0
    observed = abs(moved.sum()) * (1 - 1e-12)
    generator = np.random.default_rng(seed)
    sizes, alike = np.unique(np.abs(moved), return_counts=True)
    many = 2 ** min(len(moved), 62) > permutations
    # as many heads as tails are tossed, of clusters that differ alike
    if many and len(sizes) <= len(moved) // 16:
        heads = generator.binomial(alike, 0.5, (permutations, len(sizes)))
        hits = int((np.abs((2 * heads - alike) @ sizes) >= observed).sum())
        return (hits + 1) / (permutations + 1)
    return _tossed(len(moved), permutations, generator, lambda s: np.abs(s @ moved) >= observed)


def _tossed(
    size: int,
    permutations: int,
    generator: "np.random.Generator",
    extreme: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]],
) -> float:
    """The share of sign patterns that are `extreme`, of all of them or of those that were drawn."""
    if 2 ** min(size, 62) <= permutations:
        patterns = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
        return float(extreme(2 * patterns - 1).mean())
    hits, step = 0, max(1, 4_000_000 // size)
    for start in range(0, permutations, step):
        hits += int(extreme(generator.integers(0, 2, (min(step, permutations - start), size)) * 2 - 1).sum())
    return (hits + 1) / (permutations + 1)


def swapping_p(
    a: tuple[_Floats, _Floats], b: tuple[_Floats, _Floats], *, seed: int = 0, permutations: int = PERMUTATIONS
) -> float:
    """Two-sided p of the difference of two means when the systems are swapped in each cluster by a coin toss.

    `a` and `b` are the sum and the number of each system's values by cluster; where the numbers are equal this is
    `permutation_p` of the differences of the sums.
    """
    moves = (a[0] != b[0]) | (a[1] != b[1])
    (sum_a, number_a), (sum_b, number_b) = [[v.sum() for v in side] for side in (a, b)]
    if not moves.any() or not number_a or not number_b:
        return 1.0
    observed = abs(sum_b / number_b - sum_a / number_a) * (1 - 1e-12)
    sums, numbers = (b[0] - a[0])[moves], (b[1] - a[1])[moves]

    def extreme(signs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        with np.errstate(invalid="ignore", divide="ignore"):
            one = (sum_a + sum_b + signs @ sums) / (number_a + number_b + signs @ numbers)
            other = (sum_a + sum_b - signs @ sums) / (number_a + number_b - signs @ numbers)
        return ~(np.abs(one - other) < observed)  # without a value on one side as extreme as can be

    return _tossed(int(moves.sum()), permutations, np.random.default_rng(seed), extreme)


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
Ratings = Mapping[str, Mapping[Hashable, Hashable]]  # For each person what they said of each thing


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Two people on the same things; None where there are none, or chance alone agrees fully."""
    if not (n := len(first)):
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    ones, others = Counter(first), Counter(second)
    expected = sum(ones[c] * others[c] for c in ones) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def agreement(labels: Sequence[str], values: Sequence[str]) -> tuple[float, float]:
    """The share on which two agree, and Cohen's kappa; 1 where both say one thing only."""
    if len(labels) != len(values) or not labels:
        raise BadInput(f"{len(labels)} labels and {len(values)} outcomes do not compare")
    same = sum(a == b for a, b in zip(labels, values, strict=True)) / len(labels)
    kappa = cohen_kappa(labels, values)
    return same, 1.0 if kappa is None else kappa


def mean_cohen_kappa(ratings: Ratings) -> float | None:
    """The mean over all pairs of people who rated the same things, weighted by how many."""
    kappas: list[tuple[float, int]] = []
    for first, other in combinations(sorted(ratings), 2):
        common = ratings[first].keys() & ratings[other].keys()
        kappa = cohen_kappa([ratings[first][t] for t in common], [ratings[other][t] for t in common])
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
    if not (tables := [c for c in counts.values() if c.total() >= 2]):
        return None
    observed = fmean(sum(k * (k - 1) for k in c.values()) / (c.total() * (c.total() - 1)) for c in tables)
    every = sum(tables, Counter[Hashable]())
    expected = sum((k / every.total()) ** 2 for k in every.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


# How many names it takes to see a difference, from pilot runs.
SMALL_PILOT = 20  # Names below which the interval of `names_needed` holds less often than it says (`bench/intervals.py`)


class Needed(msgspec.Struct, frozen=True):
    """For one pair of pilot runs: names in the pilot, and names that the difference takes."""

    measure: str
    a: str
    b: str
    pilot: int
    difference: float
    spread: float  # Standard deviation of a name's share in the difference
    names: int
    fewest: int | None
    most: int | None  # The 95 % interval of `names`, from what each name of the pilot says about the spread
    smallest: float  # The difference that the pilot's own number of names would show


@takes(PowerOptions)
def names_needed(systems: Sequence[Scores], plan: PowerOptions, *, level: float = 0.05) -> list[Needed]:
    """Names at which a paired test at `level` finds a true `difference` with probability `power`.

    The spread is the jackknife's over the pilot's names, so names with more questions weigh more, as they do in
    the figures themselves. Its square is a mean over the names, and the interval of that mean is the
    interval of the names needed: a small pilot does not know its own spread.
    """
    measure, difference = parse_measure(plan.measure), plan.difference
    if not 0 < difference <= 1:
        raise UsageError("the difference is a fraction above 0, such as 0.05")
    if not 0 < plan.power < 1:
        raise UsageError("the power is a fraction between 0 and 1, such as 0.8")
    check_comparable(systems)
    normal = NormalDist()
    reach = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(plan.power)

    def names(variance: float | None) -> int | None:
        return None if variance is None else max(FEWEST, math.ceil(reach**2 * variance / difference**2))

    estimates = []
    for a, b in combinations(systems, 2):
        values_a, values_b, clusters = _paired_values(a, b, measure, systems[0])
        mean, left_out = left_out_means(_sums(values_b, clusters), _sums(values_a, clusters))
        if (size := len(left_out)) < FEWEST or not np.isfinite(left_out).all():
            raise UsageError(
                f"{size} {'names' if measure.population == 'query' else 'name sets'} say too little about {measure}",
                hint=f"a pilot takes {FEWEST} names or more",
            )
        squares = size * (size - 1) * (left_out - mean) ** 2
        variance = interval(squares, bounds=(0.0, max(measure.bounds[1] ** 2, float(squares.max()))))
        spread = math.sqrt(variance.value or 0.0)
        estimates.append(
            Needed(
                measure=str(measure),
                a=a.system,
                b=b.system,
                pilot=size,
                difference=difference,
                spread=spread,
                names=names(variance.value) or FEWEST,
                fewest=names(variance.low),
                most=names(variance.high),
                smallest=reach * spread / math.sqrt(size),
            )
        )
    return estimates


# Ranks of systems: one more than the number of those that a test finds better.


# The rule of `tied_ranks` in words, for notes below tables.
RULE = (
    "a rank is one more than the number of systems that are significantly better (paired permutation test by cluster, "
    f"Holm-corrected over all pairs, p < {LEVEL}), so systems that cannot be distinguished from the best share rank 1"
)


def tied_ranks(systems: Sequence[str], comparisons: Iterable[Comparison]) -> dict[str, int]:
    """One more than the number of systems that are significantly better.

    Two systems of different ranks need not differ significantly: only somebody above them does. A system with
    the larger figure can have the worse rank where it has the smaller spread, so that more are known to be better.
    `comparisons` are those of every pair on one measure, corrected together; a pair without one counts as equal.
    """
    ranks = dict.fromkeys(systems, 1)
    for c in comparisons:
        if c.better is not None and (worse := c.a if c.better == c.b else c.b) in ranks:
            ranks[worse] += 1
    return ranks


def better_systems(systems: Sequence[Scores], measure: Measure) -> dict[str, list[str]]:
    """For each system those that are significantly better, of many systems: the same tests as `compare` makes."""
    ordered = sorted(systems, key=lambda s: s.system)
    differences = (_differences(a, b, measure, ordered[0]) for a, b in combinations(ordered, 2))
    tests = [(float(sums.sum()), _bounded_p(sums)) for sums in differences]
    better: dict[str, list[str]] = {s.system: [] for s in ordered}
    corrected = holm([p for _, p in tests])
    for (a, b), (total, _), p in zip(combinations(ordered, 2), tests, corrected, strict=True):
        if p < LEVEL and total:
            above, below = (b, a) if total > 0 else (a, b)
            better[below.system].append(above.system)
    return better


def against_best(systems: Sequence[Scores], measure: Measure) -> dict[str, float]:
    """The p of each other system against the one with the best figure; not corrected."""

    def figure(scores: Scores) -> float:
        values, _ = of_population(measure, scores.values[str(measure)], scores.numbers_for(measure))
        mean = _mean(values)
        return -math.inf if mean is None else measure.sign * mean

    best = max(sorted(systems, key=lambda s: s.system), key=figure)
    tested = [s for s in systems if s is not best]
    return {s.system: permutation_p(_differences(s, best, measure, best)) for s in tested}


def _differences(a: Scores, b: Scores, measure: Measure, numbered: Scores) -> _Floats:
    """By cluster how much better b is than a, of what both have a value of."""
    values_a, values_b, clusters = _paired_values(a, b, measure, numbered)
    differences = measure.sign * (values_b - values_a)
    keep = ~np.isnan(differences)
    return cluster_sums(differences[keep], clusters[keep])[0]


def _bounded_p(sums: _Floats) -> float:
    """The permutation test's p; where no drawing could show how small it is, Hoeffding's bound on it.

    Drawing 10,000 times gives no p below 1/10,001, which the correction for 500 pairs, of 33 systems, makes 0.05.
    """
    squares = float((sums**2).sum())
    bound = 2 * math.exp(-(float(sums.sum()) ** 2) / (2 * squares)) if squares else 1.0
    return bound if bound < 1 / (PERMUTATIONS + 1) else permutation_p(sums)
