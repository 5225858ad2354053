"""AmbER's figures: the long tail of popularity (2), and popularity gap against retrieval gap (4)."""

from __future__ import annotations

import textwrap
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import members_with_rows
from whichone.errors import UsageError, WhichoneError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.measures.intervals import Estimate, difference_of_means, interval
from whichone.measures.scores import Scores, groups_of
from whichone.measures.summary import HEAD as HEAD_ROLE
from whichone.measures.summary import TAIL as TAIL_ROLE
from whichone.measures.summary import group_of, roles_of
from whichone.records import Bearer, NameSet, Query, grouped
from whichone.report.first_screen import GOLD, NAMESAKE, Codes
from whichone.report.page import GREY, HEAD, PALE, PALETTE, TAIL, Figure, drawing, finish, shortened

GapScale = Literal["views", "log10"]
FEW_PAIRS = 5  # Bins with fewer pairs are grey: their height says little
MOST_LABELS = 12
MOST_POINTS = 20_000
BINS = ("0-20", "20-40", "40-60", "60-80", "80-100", "> 100")


def long_tail(
    benchmark: Benchmark, name: str | None = None, entities: npt.NDArray[np.float64] | None = None
) -> Figure | None:
    """Figure 2: popularity by rank, the bearers of one name in colour.

    Ranks are those among `entities`, a sample of a knowledge base's by popularity; without it among the
    benchmark's own bearers.
    """
    known = (b.popularity for s in benchmark.sets for b in s.bearers if b.popularity)
    own = -np.sort(-np.fromiter(known, np.float64))
    if not len(own):
        return None
    shown = name or _clearest_name(benchmark)
    labels = BearerLabels(benchmark)
    behind = own if entities is None else entities
    marked = [
        (rank, b.popularity, shortened(labels.of_set(s)[s.bearers.index(b)]), b.role == "head")
        for rank, (b, s) in _ranked_bearers(benchmark, shown, own, entities)
    ]
    with drawing(size=(7.6, 3.6)) as (figure, axes):
        axis = axes[0][0]
        drawn = _spread_over(len(behind))
        axis.plot(drawn + 1, behind[drawn], ".", color=GREY, ms=3, rasterized=True)
        if entities is not None:
            drawn = _spread_over(len(own))
            ranks = np.searchsorted(-entities, -own[drawn]) + 1
            axis.plot(ranks, own[drawn], ".", color="black", ms=2, rasterized=True)
        axis.set(yscale="log", xlabel="rank", ylabel="popularity")
        for rank, popularity, _, head in marked:
            axis.plot([rank], [popularity], "o", color=HEAD if head else TAIL)
        _label_beside(axis, marked[:MOST_LABELS])
        return finish(
            figure,
            "long-tail",
            f"The long tail of popularity, with the bearers of “{shown}” (AmbER, Figure 2)",
            "Every bearer of a name in this benchmark by its popularity; head in purple, tail in blue."
            if entities is None
            else f"{len(entities):,} entities of the knowledge base by their views in grey, before them in black the bearers of "
            "names in this benchmark; of the name shown, head in purple, tail in blue.",
        )


def _spread_over(count: int) -> npt.NDArray[np.int64]:
    """All places, or `MOST_POINTS` of them from the first to the last: more are on one another anyway."""
    if count <= MOST_POINTS:
        return np.arange(count)
    return np.unique(np.geomspace(1, count, MOST_POINTS).astype(np.int64)) - 1


def _ranked_bearers(
    benchmark: Benchmark, name: str, own: npt.NDArray[np.float64], entities: npt.NDArray[np.float64] | None
) -> list[tuple[int, tuple[Bearer, NameSet]]]:
    """The bearers of one name, each with its rank among all; of equal popularity the first in order comes first."""
    results: list[tuple[int, tuple[Bearer, NameSet]]] = []
    before, upwards = dict[float, int](), -own
    wanted = {b.popularity for s in benchmark.sets if s.name == name for b in s.bearers if b.popularity}
    for name_set in benchmark.sets:
        for bearer in name_set.bearers:
            if (popularity := bearer.popularity) is None or popularity not in wanted:
                continue
            place = before.setdefault(popularity, int(np.searchsorted(upwards, -popularity)))
            before[popularity] += 1
            if name_set.name == name:
                if entities is not None:
                    place = int(np.searchsorted(-entities, -popularity))
                results.append((place + 1, (bearer, name_set)))
    return sorted(results, key=lambda result: result[0])


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
    def gap(popularities: list[float]) -> float:
        return popularities[0] / max(popularities[1], 1e-9) if len(popularities) > 1 else 0

    return max(
        (gap(sorted((b.popularity or 0 for b in s.bearers), reverse=True)), s.name) for s in benchmark.sets
    )[1]


def gap_bins(
    systems: Sequence[Scores], benchmark: Benchmark, collection: str, scale: GapScale
) -> list[list[Estimate]]:
    """For each system and bin of the popularity gap, head minus tail accuracy at 1 of the QA queries in it.

    A pair is a head and one tail of its set, its gap (ph - pt) / pt. The queries of both go into the bin
    of their pair, each once a bin, and the accuracy of a bin's head queries is compared with that of its
    tail queries, as in the paper. Bins of 20 %, the last open; `n` is the number of pairs.
    """
    each = [(scores.values["acc@1"], [_Bin() for _ in BINS]) for scores in systems]
    for name_set, rows, every in chain.from_iterable(members_with_rows(benchmark)):
        queries = [(q, row) for q, row in zip(every, rows.tolist(), strict=True) if _counts(q, collection)]
        for values, bins in each:
            found = ((query, float(values[row])) for query, row in queries)
            asked = grouped((q.entity or "", (q.id, value)) for q, value in found if value == value)
            _add_pairs(bins, name_set, asked, scale)
    return [[gap_bin.estimate() for gap_bin in bins] for _, bins in each]


def _add_pairs(
    bins: Sequence[_Bin], name_set: NameSet, asked: Mapping[str, list[tuple[str, float]]], scale: GapScale
) -> None:
    """Put the queries of each head and tail of a name into the bin of their gap."""
    used: dict[int, tuple[dict[str, float], dict[str, float]]] = {}
    for head in (b for b in name_set.bearers if b.role == "head"):
        for tail in (b for b in name_set.bearers if b.role == "tail"):
            heads, tails = asked.get(head.entity), asked.get(tail.entity)
            gap = popularity_gap(head.popularity, tail.popularity, scale)
            if heads and tails and gap is not None:
                place = min(int(gap / 0.2), len(BINS) - 1)
                bins[place].pairs += 1
                both = used.setdefault(place, ({}, {}))
                both[0].update(heads)
                both[1].update(tails)
    for place, both in used.items():
        bins[place].add(*both)


class _Bin:
    """The head and tail queries of one bin: for each name set the sums and numbers of both."""

    def __init__(self) -> None:
        self.pairs = 0
        self._sums = array("d")

    def add(self, heads: Mapping[str, float], tails: Mapping[str, float]) -> None:
        """The queries of one name set, each once."""
        self._sums.extend([sum(heads.values()), len(heads), sum(tails.values()), len(tails)])

    def estimate(self) -> Estimate:
        """The difference, with the interval that leaving out one name set at a time gives."""
        heads, of_heads, tails, of_tails = np.array(self._sums).reshape(-1, 4).T
        difference = difference_of_means((heads, of_heads), (tails, of_tails), n=self.pairs)
        return difference if self.pairs else interval([])


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


def _rows_of_collections(queries: Sequence[Query]) -> dict[str | None, npt.NDArray[np.int64]]:
    """The rows of the QA queries that have a role, by collection; those of the others under None."""

    def collection(query: Query) -> str | None:
        return group_of(query) if query.task == "qa" and query.role is not None else None

    return {key: rows for (key,), rows in groups_of(queries, [collection])}


def gap_figure(systems: Sequence[Scores], benchmark: Benchmark, scale: GapScale) -> Figure | None:
    """Figure 4: a panel for each system and collection."""
    collections = [name for name in _rows_of_collections(systems[0].queries) if name is not None]
    if not collections:
        return None
    size = (max(5.2, 2.6 * len(systems)), 2.4 * len(collections) + 0.3)
    with drawing(len(collections), len(systems), size) as (figure, axes):
        for i, collection in enumerate(collections):
            for j, (scores, bins) in enumerate(
                zip(systems, gap_bins(systems, benchmark, collection, scale), strict=True)
            ):
                _panel(axes[i][j], scores, bins, collection)
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
            f"name set, the number of pairs appears below, bins with under {FEW_PAIRS} pairs are grey; the purple line "
            "is the difference over all queries.",
        )


def _panel(axis: Any, scores: Scores, bins: Sequence[Estimate], collection: str) -> None:
    heights = [100 * (b.value or 0) for b in bins]
    colours = [PALETTE[0] if b.n >= FEW_PAIRS else PALE for b in bins]
    axis.bar(range(len(BINS)), heights, color=colours, width=0.8)
    for x, gap_bin in enumerate(bins):
        axis.text(x, -122, f"{gap_bin.n:,}", ha="center", va="bottom", fontsize=6, color=GREY)
        if gap_bin.low is not None and gap_bin.high is not None:
            axis.plot([x, x], [100 * gap_bin.low, 100 * gap_bin.high], color="black", lw=1)
    rows = _rows_of_collections(scores.queries)[collection]
    values, roles = scores.values["acc@1"][rows], roles_of(scores.queries)[rows]
    head, tail = values[roles == HEAD_ROLE], values[roles == TAIL_ROLE]
    if len(head) and len(tail):
        axis.axhline(100 * (float(np.mean(head)) - float(np.mean(tail))), color=HEAD, lw=1)
    axis.set_xticks(range(len(BINS)), BINS, rotation=45, fontsize=7)
    axis.axhline(0, color="black", lw=0.5)


# A sample of a knowledge base's entities by popularity: the grey points of AmbER's Figure 2.
MOST = 100_000  # As many as the paper draws


def popularity_sample(place: str | Path, *, most: int = MOST, seed: int = 0) -> npt.NDArray[np.float64]:
    """Views of entities that have a page with views, the most popular first."""
    base = Folder.open(place, KIND)
    views = base.table("views", ["title", "views"])
    if not len(views):
        raise UsageError(
            f"{place} has no page views, so nothing says how popular its entities are",
            hint="whichone ingest ... --views FILE",
        )
    entities = base.table("entities", ["entity", "title"])
    titles = entities.filter(pc.is_valid(entities["title"])).select(["title"])
    summed = views.group_by("title").aggregate([("views", "sum")])
    values = titles.join(summed, "title", join_type="inner")["views_sum"].to_numpy().astype(np.float64)
    values = np.sort(values[values > 0])
    if len(values) > most:
        values = np.sort(np.random.default_rng(seed).choice(values, most, replace=False))
    return values[::-1]


def knowledge_beside(benchmark: Benchmark) -> Path | None:
    """The knowledge base that a benchmark was built from, where it is stored beside it."""
    place = benchmark.folder.root.parent / "kb"
    try:
        known = Folder.open(place, KIND).content_hash
    except WhichoneError:
        return None
    return place if known == benchmark.folder.manifest.parents.get("knowledge base") else None


# AmbER's Figure 1: two questions about two bearers of one name, and what each system ranks first.
SHOWN = 6
MOST_SYSTEMS = 4
_WIDTH = 46

_Ranked = Mapping[str, Sequence[str]]
Line = tuple[str, str, str]  # Text, colour and weight


class Pair(msgspec.Struct, frozen=True):
    """A question about the head, or the first bearer, and one about another bearer of the name."""

    first: Query
    second: Query
    right: tuple[str, ...]  # Systems that put gold first for both
    half: tuple[str, ...]  # Systems that find the first one and put a namesake first for the second

    @property
    def telling(self) -> tuple[bool, int]:
        """Whether the systems differ, and how many of them show what it is about."""
        return bool(self.right and self.half), len(self.half)

    def shown(self, systems: Sequence[str]) -> list[str]:
        """A few systems in their order, of both kinds where there are both."""
        first = [*self.right[: MOST_SYSTEMS // 2], *self.half[: MOST_SYSTEMS // 2]]
        chosen = {*first, *[s for s in systems if s not in first][: MOST_SYSTEMS - len(first)]}
        return [s for s in systems if s in chosen]


def clearest_pair(kinds: Mapping[str, Codes], benchmark: Benchmark) -> Pair | None:
    """A pair on which systems differ, and that most of the others get half right; the first name in order."""
    best: tuple[tuple[bool, int], tuple[str, str], Pair] | None = None
    for name_set, rows, every in chain.from_iterable(members_with_rows(benchmark)):
        asked = [(query, row) for query, row in zip(every, rows.tolist(), strict=True) if query.task == "qa"]
        head = next((b.entity for b in name_set.bearers if b.role == "head"), None)
        lead = head or next((q.entity for q, _ in asked), None)
        name = (name_set.name, name_set.id)
        for first, a in ((q, row) for q, row in asked if q.entity == lead):
            for second, b in ((q, row) for q, row in asked if q.entity != lead):
                tops = {system: codes[b] for system, codes in kinds.items() if codes[a] == GOLD}
                right = tuple(system for system, top in tops.items() if top == GOLD)
                half = tuple(system for system, top in tops.items() if top == NAMESAKE)
                pair = Pair(first, second, right, half)
                rivals = best is None or pair.telling > best[0]
                if rivals or (best and pair.telling == best[0] and name < best[1]):
                    best = pair.telling, name, pair
    return best[2] if best else None


def example_figure(
    ranked: Mapping[str, _Ranked], kinds: Mapping[str, Codes], benchmark: Benchmark
) -> Figure | None:
    """Figure 1: a row for each system, its ranking for both questions side by side."""
    if (pair := clearest_pair(kinds, benchmark)) is None:
        return None
    systems = {system: ranked[system] for system in pair.shown(list(ranked))}
    labels = BearerLabels(benchmark)
    columns = [_column(query, systems, pair, labels) for query in (pair.first, pair.second)]
    height = sum(max(map(len, blocks)) for blocks in zip(*columns, strict=True)) + len(systems)
    with drawing(1, 2, (7.6, 0.19 * height)) as (figure, axes):
        for axis, own, other in zip(axes[0], columns, reversed(columns), strict=True):
            axis.set_axis_off()
            axis.set_ylim(height, 0)
            top = 0
            for block, beside in zip(own, other, strict=True):
                for n, (text, colour, weight) in enumerate(block):
                    axis.text(
                        0, top + n, text, color=colour, weight=weight, fontsize=8.5, va="top",
                        parse_math=False,
                    )  # fmt: skip
                top += max(len(block), len(beside)) + 1
        return finish(
            figure,
            "example",
            f"Two bearers of “{pair.first.name}” (AmbER, Figure 1)",
            "A question about each of two bearers, and the pages that each system ranks first. Purple is a page "
            "of the first bearer, blue one of the second; bold is the gold page. "
            f"{len(pair.right)} of {len(ranked)} systems put the gold page first for both questions, "
            f"{len(pair.half)} put a namesake first for the second.",
        )


def _column(
    query: Query, systems: Mapping[str, _Ranked], pair: Pair, labels: BearerLabels
) -> list[list[Line]]:
    colours = dict.fromkeys(pair.second.gold_pages(), TAIL)
    colours |= dict.fromkeys(pair.first.gold_pages(), HEAD)
    gold = query.gold_pages()
    answers = query.answers()
    blocks: list[list[Line]] = [
        [
            *((line, "black", "bold") for line in textwrap.wrap(query.input, _WIDTH)),
            (f"Answer: {_short(answers[0]) if answers else '–'}", "black", "normal"),
        ]
    ]
    for system, ranked in systems.items():
        pages = ranked.get(query.id, ())
        block: list[Line] = [(f"Ranked by {_short(system)}:", GREY, "normal")]
        titles = labels.of_pages(pages[:SHOWN], query.name_set)
        block += [
            _entry(f"{n}.", title, page in gold, colours.get(page, "black"))
            for n, (page, title) in enumerate(zip(pages[:SHOWN], titles, strict=True), 1)
        ]
        if not gold & {*pages[:SHOWN]}:
            block.append(_gold_below(pages, gold, colours, labels))
        blocks.append(block)
    return blocks


def _entry(place: str, title: str, gold: bool, colour: str) -> Line:
    return f"{place} {_short(title)}", colour, "bold" if gold else "normal"


def _gold_below(
    pages: Sequence[str], gold: frozenset[str], colours: Mapping[str, str], labels: BearerLabels
) -> Line:
    """Where the gold page is when it is not among those shown."""
    for n, page in enumerate(pages, 1):
        if page in gold:
            return _entry(f"… {n}.", labels.of_page(page), True, colours.get(page, "black"))
    page = min(gold, default="")
    caption = f"not among its {len(pages)}:" if pages else "it returned nothing:"
    return _entry(caption, labels.of_page(page), True, colours.get(page, "black"))


def _short(text: str) -> str:
    return shortened(text, _WIDTH - 4)


def operating_curve(points: Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> Figure:
    """Absent bearers that are noticed against present ones that are refused, a line a system."""
    with drawing(size=(5.4, 4.0)) as (figure, axes):
        axis = axes[0][0]
        for n, (system, (refused, noticed)) in enumerate(points.items()):
            axis.step(refused, noticed, where="post", color=PALETTE[n % len(PALETTE)], label=system, lw=1.4)
        axis.plot([0, 1], [0, 1], color=GREY, lw=0.6)
        axis.axvline(0.05, color=GREY, lw=0.6, ls=":")
        axis.set(
            xlabel="refused, of those who are there", ylabel="noticed, of those who are not",
            xlim=(0, 1), ylim=(0, 1.02),
        )  # fmt: skip
        axis.legend(fontsize=8, frameon=False, loc="lower right")
        return finish(
            figure,
            "nobody",
            "Nobody here: what being careful costs",
            "Every point is a bar on how sure a system is; the grey diagonal knows nothing, the dotted line is at 5 %.",
        )
