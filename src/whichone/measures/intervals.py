"""95 % intervals for means of clustered values, from what each cluster changes: no seed, no drawing."""

import bisect
import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark_tables import first_places, once
from whichone.errors import UsageError
from whichone.files.arrow_records import Seen, Selection, Stored
from whichone.records import Query

LEVEL = 0.95
# Clusters below which no interval is given: none of the methods in `bench/intervals.py` keeps its level there.
FEWEST = 8
JACKKNIFE = "jackknife t on the log-odds scale"
PLAIN = "jackknife t"
SAME = "exact, all clusters the same"

_Floats = npt.NDArray[np.float64]
SHALLOW = "°"  # Marks a figure at a depth that the run does not have


class Estimate(msgspec.Struct, frozen=True):
    """A mean with its 95 % interval; `n` values in `clusters` clusters, `kind` is how the interval was found."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int = 0
    kind: str = ""
    # For how many queries a ranking ended above the measure's depth although there may be more.
    shallow: int = 0

    def brief(self) -> dict[str, Any]:
        fields = msgspec.structs.asdict(self)
        return fields if self.shallow else {n: v for n, v in fields.items() if n != "shallow"}

    @property
    def mark(self) -> str:
        return SHALLOW if self.shallow else ""


def interval(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = LEVEL,
) -> Estimate:
    """The mean of all values with an interval that knows which of them belong together.

    `clusters` names the cluster of each value (the name, the entity); without it every value is one of
    its own. `bounds` are the least and the greatest value there can be: (0, 1) for a measure, (-1, 1) for
    the difference of two systems. NaN does not apply and is left out. Fewer than 8 clusters give no interval.

        whichone.interval([1, 0, 1, 1, ...], clusters=["Abe Lincoln", "Abe Lincoln", "Her", "Her", ...])
    """
    numbers = np.asarray(values, np.float64)
    groups = np.arange(len(numbers)) if clusters is None else np.asarray(clusters)
    keep = ~np.isnan(numbers)
    if not keep.any():
        return Estimate(None, None, None, 0, 0, "no value")
    if not keep.all():
        numbers, groups = numbers[keep], groups[keep]
    return sums_interval(*cluster_sums(numbers, groups), bounds=bounds, level=level)


def sums_interval(
    sums: _Floats, counts: _Floats, *, bounds: tuple[float, float] = (0.0, 1.0), level: float = LEVEL
) -> Estimate:
    """The same from the sum and the number of the values of each cluster."""
    total, number = sums.sum(), counts.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        left_out = (total - sums) / (number - counts)
    means, often = np.unique(sums / counts, return_counts=True)
    common = means[often.argmax()]
    return jackknife(
        float(total / number),
        left_out,
        counts,
        n=int(number),
        differing=sums / counts != common if bounds[0] < common < bounds[1] else None,
        bounds=bounds,
        level=level,
    )


def jackknife(
    value: float,
    left_out: _Floats,
    counts: _Floats,
    *,
    n: int,
    differing: npt.NDArray[np.bool_] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = LEVEL,
) -> Estimate:
    """The interval of a statistic, given what it is without each cluster and how large the clusters are.

    A t-interval on the log-odds of the value's place between its bounds. Its standard error is the
    delete-one-cluster jackknife's (CR3 of Bell and McCaffrey), its degrees of freedom are theirs, which
    are fewer than clusters less one where clusters are of unequal size, and no more than
    one above those of the clusters that are `differing` from the most common value, where that is within the
    bounds (two systems that are equal on most names): they carry all there is to know. Where no cluster changes the
    value, up to 1 - 0.025 ** (1 / clusters) of all clusters may still differ, and by as much as can be.
    """
    if (size := len(counts)) < FEWEST:
        return Estimate(value, None, None, n, size, f"none, fewer than {FEWEST} clusters")
    least, greatest = bounds
    bounded = math.isfinite(greatest - least)
    if bounded and np.allclose(left_out, value, rtol=0, atol=1e-12):
        share = 1 - ((1 - level) / 2) ** (1 / size)
        low, high = value - share * (value - least), value + share * (greatest - value)
        return Estimate(value, low, high, n, size, SAME)
    error = math.sqrt((size - 1) / size * float(((left_out - value) ** 2).sum()))
    if not bounded and not error:
        return Estimate(value, None, None, n, size, "none, all clusters the same")
    freedom = degrees_of_freedom(counts)
    if differing is not None and 0 < differing.sum() < size - 1:
        freedom = min(freedom, 1 + degrees_of_freedom(counts[differing]))
    half = t_quantile((1 + level) / 2, freedom) * error
    place = (value - least) / (greatest - least) if bounded else 0.0
    spread = place * (1 - place) * (greatest - least) if 0 < place < 1 else 0.0
    if not spread:
        return Estimate(value, value - half, value + half, n, size, PLAIN)
    centre, half = math.log(place / (1 - place)), half / spread
    low, high = (least + (greatest - least) * _share(centre + sign * half) for sign in (-1.0, 1.0))
    return Estimate(value, low, high, n, size, JACKKNIFE)


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


def degrees_of_freedom(counts: _Floats) -> float:
    """Satterthwaite's for the jackknife variance of a mean over clusters of these sizes.

    Bell and McCaffrey 2002 with independent values as the working model: clusters less one where all are
    of one size, close to 1 where one cluster is nearly all there is.
    """
    if len(counts) < 2:
        return 1.0
    total = counts.sum()
    weights = counts / (total * (total - counts))
    squares = (weights**2).sum()
    return max(1.0, float(weights.sum() ** 2 / (squares + total**2 * (squares**2 - (weights**4).sum()))))


@functools.lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """Student's t for any degrees of freedom, by bisection on the integral of its density.

    With t = sqrt(freedom) tan(angle) the density is cos(angle) ** (freedom - 1), which Gauss-Legendre nodes
    integrate to ten digits; scipy, which has it, is no dependency of the core.
    """
    nodes, weights = _nodes()
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    root = math.sqrt(freedom)
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        angle = math.atan(middle / root)
        density = np.cos((nodes + 1) * angle / 2) ** (freedom - 1)
        if 0.5 + constant * angle / 2 * float(weights @ density) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@functools.cache
def _nodes() -> tuple[_Floats, _Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights


Sums = tuple[_Floats, _Floats]  # Of every cluster the sum and the number of some of its values


def left_out_means(a: Sums, b: Sums) -> tuple[float, _Floats]:
    """The mean of a less that of b, and what this is without each cluster; NaN where then no value is left."""
    total = [side.sum() for side in (*a, *b)]
    rest = [whole - side for whole, side in zip(total, (*a, *b), strict=True)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(total[0] / total[1] - total[2] / total[3]), rest[0] / rest[1] - rest[2] / rest[3]


def difference_of_means(a: Sums, b: Sums, *, n: int, bounds: tuple[float, float] = (-1.0, 1.0)) -> Estimate:
    """The mean of a less that of b, each over its own values, with an interval over the clusters of both."""
    if not a[1].sum() or not b[1].sum():
        return Estimate(None, None, None, n)
    value, left_out = left_out_means(a, b)
    if not np.isfinite(left_out).all():
        return Estimate(value, None, None, n, len(left_out), "none, all of a side in one cluster")
    return jackknife(value, left_out, a[1] + b[1], n=n, bounds=bounds)


def cluster_sums(values: _Floats, clusters: npt.NDArray[Any]) -> tuple[_Floats, _Floats]:
    """Sum and number of the values of each cluster, clusters in order of first appearance."""
    least, most = (
        (clusters.min(initial=0), clusters.max(initial=0)) if clusters.dtype.kind == "i" else (0, -1)
    )
    if least < 0 or not -1 < most <= 4 * len(clusters):
        clusters = np.unique(clusters, return_inverse=True)[1]
    counts = np.bincount(clusters)
    first = np.empty(len(counts), np.int32)
    first[clusters[::-1]] = np.arange(len(clusters), dtype=np.int32)[::-1]
    known = np.flatnonzero(counts)
    known = known[np.argsort(first[known])]
    return np.bincount(clusters, values)[known].astype(np.float64, copy=False), counts[known].astype(
        np.float64
    )


def interval_note(rule: str, clusters: int | None = None) -> str:
    """For the line under a table: the kind of interval, what a cluster is, and how many there are."""
    number = f" in {clusters:,} clusters" if clusters is not None else ""
    return f"95 % intervals by {rule}{number} ({JACKKNIFE}; none below {FEWEST} clusters)"


# Which queries are drawn together when scores are resampled: their clusters, as numbers.
KINDS = ("name set", "entity", "gold page", "query")


def cluster(query: Query) -> tuple[str, str]:
    """What resampling draws together: name set, else entity, else gold page, else the query."""
    if query.name_set:
        return "name set", query.name_set
    if query.entity:
        return "entity", query.entity
    gold = query.gold_pages()
    return ("gold page", min(gold)) if gold else ("query", query.id)


def cluster_rule(queries: Sequence[Query]) -> str:
    """The kinds of clusters a set of queries has, for the line under a table."""
    kinds = clusters_of(queries).kinds
    return " and ".join(kind for kind in KINDS if kind in kinds)


def cluster_note(queries: Sequence[Query]) -> str:
    """The kind of the intervals over these queries, and of how many clusters they are."""
    return interval_note(cluster_rule(queries), clusters_of(queries).count)


class Clusters(msgspec.Struct, frozen=True):
    """The cluster of each query as a number, and its kind as a place in `KINDS`."""

    numbers: npt.NDArray[np.integer[Any]]
    kind_numbers: npt.NDArray[np.int8]

    @property
    def count(self) -> int:
        return len(np.unique(self.numbers))

    @property
    def kinds(self) -> list[str]:
        return [KINDS[n] for n in np.flatnonzero(np.bincount(self.kind_numbers))]


def clusters_of(queries: Sequence[Query]) -> Clusters:
    """The clusters of these queries; of those of a benchmark they are found once."""
    if isinstance(queries, Selection) and isinstance(queries.records, Stored):
        every = clusters_of(queries.records)
        return Clusters(every.numbers[queries.places], every.kind_numbers[queries.places])
    return once(queries, "clusters", lambda: _clusters(queries))


def _clusters(queries: Sequence[Query]) -> Clusters:
    kinds, places = np.zeros(len(queries), np.int8), itertools.count()

    def name(query: Query) -> str:
        kind, own = cluster(query)
        kinds[next(places)] = KINDS.index(kind)
        return f"{kind}:{own}"

    firsts = first_places(queries, name, Seen())
    numbers = np.cumsum(firsts == np.arange(len(firsts), dtype=np.int32), dtype=np.int32)
    return Clusters(numbers[firsts] - 1, kinds)


# Parts of the queries by a number: head and tail, quarters.


# An attribute of no more different numbers than these, each of several queries, is sliced by each of them.
_FEW_NUMBERS = 8
_MOSTLY = 0.9  # The share of an attribute's values that are numbers where it is cut into parts
_NO_NUMBER = "no number"


def number_parts(
    name: str, read: Callable[[Query], Any], queries: Sequence[Query], parts: str
) -> Callable[[Query], Any]:
    """Reads the part of all numbers that a query's number is in; values that are mostly no numbers as they are.

    Parts are of equal size, but for equal numbers, which are in one. Without a number of parts there are a head and
    a tail, where the numbers are many. The few values among numbers that are none ("n/a") are a part of their own.
    """
    if parts and not (parts.isdigit() and 1 < int(parts) <= 100):
        raise UsageError(f"{name}:{parts} is no number of parts", hint=f"write {name}:4, from 2 to 100")
    values = [value for query in queries if (value := read(query)) not in (None, "")]
    known = sorted(number for value in values if (number := _number(value)) is not None)
    if not known or len(known) < _MOSTLY * len(values):
        if parts:
            odd = next((f" ({value!r})" for value in values if _number(value) is None), "")
            raise UsageError(f"{name} is mostly no number{odd}, so that it has no parts", hint=f"--by {name}")
        return read
    distinct = len(set(known))
    if not parts and distinct <= _FEW_NUMBERS and 2 * distinct <= len(known):
        return read
    count = int(parts or 2)
    starts = sorted({known[len(known) * n // count] for n in range(1, count)} - {known[0]})
    if not starts and distinct > 1:  # most have the least number
        starts = [next(value for value in known if value > known[0])]
    bounds = [known[0], *starts]
    last = [known[bisect.bisect_left(known, start) - 1] for start in starts] + [known[-1]]
    ranges = [
        f"{low:,.10g}" if low == high else f"{low:,.10g} to {high:,.10g}"
        for low, high in zip(bounds, last, strict=True)
    ]
    if parts:
        wide = len(str(len(ranges)))
        labels = [f"{n:0{wide}} of {len(ranges)} ({r})" for n, r in enumerate(ranges, 1)]
    else:
        labels = [f"tail ({ranges[0]})", f"head ({ranges[-1]})"] if starts else [ranges[0]]

    def part(query: Query) -> str | None:
        if (value := read(query)) is None or value == "":
            return None
        number = _number(value)
        return _NO_NUMBER if number is None else labels[bisect.bisect_right(starts, number)]

    return part


_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


def _number(value: Any) -> float | None:
    """A number, as such or as a file of text writes it: 12000 or 12,000."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and _THOUSANDS.fullmatch(value.strip()):
        value = value.replace(",", "")
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
