"""AmbER's figures: the long tail of popularity (2), and popularity gap against retrieval gap (4)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.intervals import Estimate, interval, jackknife
from whichone.measures.scores import Scores
from whichone.measures.summary import group_of
from whichone.records import Bearer, NameSet, Query
from whichone.report.figure import (
    GREY,
    HEAD,
    PALE,
    PALETTE,
    TAIL,
    Figure,
    drawing,
    finish,
    shortened,
)

GapScale = Literal["views", "log10"]
FEW_PAIRS = 5
"""Bins with fewer pairs are grey: their height says little."""
MOST_LABELS = 12
BINS = ("0-20", "20-40", "40-60", "60-80", "80-100", "> 100")


def long_tail(
    benchmark: Benchmark,
    name: str | None = None,
    entities: npt.NDArray[np.float64] | None = None,
) -> Figure | None:
    """Figure 2: popularity by rank, the bearers of one name in colour.

    Ranks are those among `entities`, a sample of a knowledge base's by popularity; without it among the
    benchmark's own bearers.
    """
    bearers = [(b, s) for s in benchmark.sets for b in s.bearers if b.popularity]
    if not bearers:
        return None
    bearers.sort(key=lambda pair: -(pair[0].popularity or 0))
    shown = name or _clearest_name(benchmark)
    labels = BearerLabels(benchmark)
    own = np.array([b.popularity for b, _ in bearers], np.float64)
    behind = own if entities is None else entities
    ranks = np.searchsorted(-behind, -own) + 1 if entities is not None else np.arange(len(own)) + 1
    marked = [
        (rank, bearer.popularity, _labelled(bearer, name_set, labels), bearer.role == "head")
        for rank, (bearer, name_set) in zip(ranks.tolist(), bearers, strict=True)
        if name_set.name == shown
    ]
    with drawing(size=(7.6, 3.6)) as (figure, axes):
        axis = axes[0][0]
        axis.plot(range(1, len(behind) + 1), behind, ".", color=GREY, ms=3, rasterized=True)
        if entities is not None:
            axis.plot(ranks, own, ".", color="black", ms=2, rasterized=True)
        axis.set(yscale="log", xlabel="rank", ylabel="popularity")
        for rank, popularity, _, head in marked:
            axis.plot([rank], [popularity], "o", color=HEAD if head else TAIL)
        _label_beside(axis, marked[:MOST_LABELS])
        return finish(
            figure,
            "long-tail",
            f"The long tail of popularity, with the bearers of “{shown}” (AmbER, Figure 2)",
            "Every bearer of a name in this benchmark by its popularity; head in red, tail in blue."
            if entities is None
            else f"{len(entities):,} entities of the knowledge base by their views in grey, before them in black the bearers of "
            "names in this benchmark; of the name shown, head in red, tail in blue.",
        )


def _labelled(bearer: Bearer, name_set: NameSet, labels: BearerLabels) -> str:
    return shortened(labels.of_set(name_set)[name_set.bearers.index(bearer)])


def _label_beside(axis: Any, marked: Sequence[tuple[int, float | None, str, bool]]) -> None:
    """Labels in a column beside the axes, each with a line to its point: none is on another."""
    low, high = (float(np.log10(limit)) for limit in axis.get_ylim())
    wanted = [(float(np.log10(p or 1)) - low) / (high - low) for _, p, _, _ in marked]
    for place, (rank, popularity, label, head) in zip(spread(wanted, 0.075), marked, strict=True):
        axis.annotate(
            label, (rank, popularity), xytext=(1.03, place), textcoords="axes fraction",
            va="center", fontsize=8, color=HEAD if head else TAIL, annotation_clip=False,
            parse_math=False, arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.6},
        )  # fmt: skip


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places from high to low that are as near as possible to those wanted and `gap` apart."""
    places: list[float] = []
    for place in wanted:
        places.append(min(place, places[-1] - gap if places else 1.0))
    floor = 0.0
    for n in reversed(range(len(places))):  # what fell below the axes is pushed up again
        places[n] = max(places[n], floor)
        floor = places[n] + gap
    return places


def _clearest_name(benchmark: Benchmark) -> str:
    """The name with the widest gap between its first two bearers."""

    def gap(popularities: list[float]) -> float:
        return popularities[0] / max(popularities[1], 1e-9) if len(popularities) > 1 else 0

    sets = [
        (gap(sorted((b.popularity or 0 for b in s.bearers), reverse=True)), s.name)
        for s in benchmark.sets
    ]
    return max(sets)[1]


def gap_bins(
    scores: Scores, benchmark: Benchmark, collection: str, scale: GapScale = "log10"
) -> list[Estimate]:
    """For each bin of the popularity gap, head minus tail accuracy at 1 of the QA queries in it.

    A pair is a head and one tail of its set, its gap (ph - pt) / pt. The queries of both go into the bin
    of their pair, each once a bin, and the accuracy of a bin's head queries is compared with that of its
    tail queries, as in the paper. Bins of 20 %, the last open; `n` is the number of pairs.
    """
    asked: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for query, value in zip(scores.queries, scores.values["acc@1"], strict=True):
        if _counts(query, collection) and not np.isnan(value):
            key = (query.name_set or "", query.entity or "")
            asked.setdefault(key, []).append((query.id, float(value)))
    bins = [_Bin() for _ in BINS]
    for name_set in benchmark.sets:
        for head in (b for b in name_set.bearers if b.role == "head"):
            for tail in (b for b in name_set.bearers if b.role == "tail"):
                heads = asked.get((name_set.id, head.entity))
                tails = asked.get((name_set.id, tail.entity))
                gap = popularity_gap(head.popularity, tail.popularity, scale)
                if heads and tails and gap is not None:
                    bins[min(int(gap / 0.2), len(BINS) - 1)].add(name_set.id, heads, tails)
    return [gap_bin.estimate() for gap_bin in bins]


class _Bin:
    """The head and tail queries of one bin, by name set."""

    def __init__(self) -> None:
        self.pairs = 0
        self.heads: dict[str, dict[str, float]] = {}
        self.tails: dict[str, dict[str, float]] = {}

    def add(
        self, name_set: str, heads: list[tuple[str, float]], tails: list[tuple[str, float]]
    ) -> None:
        self.pairs += 1
        self.heads.setdefault(name_set, {}).update(heads)
        self.tails.setdefault(name_set, {}).update(tails)

    def estimate(self) -> Estimate:
        """The difference, with the interval that leaving out one name set at a time gives."""
        if not self.pairs:
            return interval([])
        heads, tails = (_sums(side) for side in (self.heads, self.tails))
        value = float(heads[:, 0].sum() / heads[:, 1].sum() - tails[:, 0].sum() / tails[:, 1].sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            without = [
                (side.sum(0) - side)[:, 0] / (side.sum(0) - side)[:, 1] for side in (heads, tails)
            ]
        return jackknife(
            value,
            without[0] - without[1],
            heads[:, 1] + tails[:, 1],
            n=self.pairs,
            bounds=(-1, 1),
        )


def _sums(side: Mapping[str, Mapping[str, float]]) -> npt.NDArray[np.float64]:
    """For each name set the sum of the values and their number."""
    return np.array([[sum(values.values()), len(values)] for values in side.values()])


def popularity_gap(head: float | None, tail: float | None, scale: GapScale) -> float | None:
    """(ph - pt) / pt on the logarithm of views, as the authors' data note defines popularity, or on views.

    None where it is not defined.
    """
    if not head or not tail:
        return None
    if scale == "log10":
        head, tail = float(np.log10(head)), float(np.log10(tail))
    return (head - tail) / tail if tail > 0 else None


def _counts(query: Query, collection: str) -> bool:
    return query.task == "qa" and query.role is not None and group_of(query) == collection


def gap_figure(
    systems: Sequence[Scores], benchmark: Benchmark, scale: GapScale = "log10"
) -> Figure | None:
    """Figure 4: a panel for each system and collection."""
    collections = sorted({group_of(q) for q in systems[0].queries if q.role and q.task == "qa"})
    if not collections:
        return None
    size = (max(5.2, 2.6 * len(systems)), 2.4 * len(collections) + 0.3)
    with drawing(len(collections), len(systems), size) as (figure, axes):
        for i, collection in enumerate(collections):
            for j, scores in enumerate(systems):
                _panel(axes[i][j], scores, benchmark, collection, scale)
                title = f"{scores.system}, {collection}".rstrip(", ")
                axes[i][j].set_title(textwrap.fill(title, 30), fontsize=8, parse_math=False)
                axes[i][j].set_ylim(-125, 112)
                axes[i][j].set_yticks((-100, -50, 0, 50, 100))
            axes[i][0].set_ylabel("head − tail (points)", fontsize=8)
        for axis in axes[-1]:
            axis.set_xlabel("popularity gap (%)", fontsize=8)
        return finish(
            figure,
            "popularity-gap",
            "Popularity gap and retrieval gap (AmbER, Figure 4)",
            f"Head minus tail accuracy at 1 on QA queries, for pairs of a head and a tail of one set, binned by "
            f"(ph − pt) / pt on {'views' if scale == 'views' else 'log10 views'}; whiskers are 95 % intervals by "
            f"name set, the number of pairs appears below, bins with under {FEW_PAIRS} pairs are grey; the red line "
            "is the difference over all queries.",
        )


def _panel(
    axis: Any, scores: Scores, benchmark: Benchmark, collection: str, scale: GapScale
) -> None:
    bins = gap_bins(scores, benchmark, collection, scale)
    heights = [100 * (b.value or 0) for b in bins]
    colours = [PALETTE[0] if b.n >= FEW_PAIRS else PALE for b in bins]
    axis.bar(range(len(BINS)), heights, color=colours, width=0.8)
    for x, gap_bin in enumerate(bins):
        axis.text(x, -122, f"{gap_bin.n:,}", ha="center", va="bottom", fontsize=6, color=GREY)
        if gap_bin.low is not None and gap_bin.high is not None:
            axis.plot([x, x], [100 * gap_bin.low, 100 * gap_bin.high], color="black", lw=1)
    picked = [
        (q.role, v)
        for q, v in zip(scores.queries, scores.values["acc@1"], strict=True)
        if _counts(q, collection)
    ]
    head = [v for role, v in picked if role == "head"]
    tail = [v for role, v in picked if role == "tail"]
    if head and tail:
        axis.axhline(100 * (float(np.mean(head)) - float(np.mean(tail))), color=HEAD, lw=1)
    axis.set_xticks(range(len(BINS)), BINS, rotation=45, fontsize=7)
    axis.axhline(0, color="black", lw=0.5)
