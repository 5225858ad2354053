"""AmbER's Figure 1: two questions about two bearers of one name, and what each system ranks first."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Query
from whichone.report.figure import GREY, HEAD, TAIL, Figure, drawing, finish

SHOWN = 6
MOST_SYSTEMS = 4
_WIDTH = 46

Ranked = Mapping[str, Sequence[str]]
Line = tuple[str, str, str]
"""Text, colour and weight."""


class Pair(msgspec.Struct, frozen=True):
    """A question about the head, or the first bearer, and one about another bearer of the name."""

    first: Query
    second: Query
    telling: int
    """How many systems find the first one and put a namesake first for the second."""


def telling_pair(ranked: Mapping[str, Ranked], benchmark: Benchmark) -> Pair | None:
    """The pair that most systems get half right; of these the first name in order."""
    members: dict[str, list[Query]] = {}
    for query in benchmark.queries:
        if query.name_set and query.task == "qa":
            members.setdefault(query.name_set, []).append(query)
    best: Pair | None = None
    for name_set in sorted(benchmark.sets, key=lambda s: (s.name, s.id)):
        queries = members.get(name_set.id, [])
        head = next((b.entity for b in name_set.bearers if b.role == "head"), None)
        lead = head or next((q.entity for q in queries), None)
        for first in (q for q in queries if q.entity == lead):
            for second in (q for q in queries if q.entity != lead):
                telling = sum(
                    _half_right(pages, first, second, benchmark) for pages in ranked.values()
                )
                if best is None or telling > best.telling:
                    best = Pair(first, second, telling)
    return best


def _half_right(pages: Ranked, first: Query, second: Query, benchmark: Benchmark) -> bool:
    found, missed = pages.get(first.id, ()), pages.get(second.id, ())
    if not found or not missed or found[0] not in first.gold_pages():
        return False
    return missed[0] in benchmark.other_pages(second)


def example_figure(ranked: Mapping[str, Ranked], benchmark: Benchmark) -> Figure | None:
    """Figure 1: a row for each system, its ranking for both questions side by side."""
    pair = telling_pair(ranked, benchmark)
    if pair is None:
        return None
    systems = {system: ranked[system] for system in list(ranked)[:MOST_SYSTEMS]}
    columns = [_column(query, systems, pair, benchmark) for query in (pair.first, pair.second)]
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
            "A question about each of two bearers, and the pages that each system ranks first. Red is a page "
            "of the first bearer, blue one of the second; bold is the gold page. Of all pairs it is the one "
            "for which most systems find the first bearer and put a namesake first for the second "
            f"({pair.telling} of {len(ranked)}).",
        )


def _column(
    query: Query, systems: Mapping[str, Ranked], pair: Pair, benchmark: Benchmark
) -> list[list[Line]]:
    """The question with its answer, then a block for each system."""
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
    for system, found in systems.items():
        pages = found.get(query.id, ())
        block: list[Line] = [(f"Ranked by {_short(system)}:", GREY, "normal")]
        block += [
            _entry(f"{n}.", page, page in gold, colours.get(page, "black"), benchmark)
            for n, page in enumerate(pages[:SHOWN], 1)
        ]
        if not gold & {*pages[:SHOWN]}:
            block.append(_gold_below(pages, gold, colours, benchmark))
        blocks.append(block)
    return blocks


def _entry(place: str, page: str, gold: bool, colour: str, benchmark: Benchmark) -> Line:
    title = _short(benchmark.page_titles.get(page, page))
    return f"{place} {title}", colour, "bold" if gold else "normal"


def _gold_below(
    pages: Sequence[str], gold: frozenset[str], colours: Mapping[str, str], benchmark: Benchmark
) -> Line:
    """Where the gold page is when it is not among those shown."""
    for n, page in enumerate(pages, 1):
        if page in gold:
            return _entry(f"… {n}.", page, True, colours.get(page, "black"), benchmark)
    page = min(gold, default="")
    told = f"not among its {len(pages)}:" if pages else "it returned nothing:"
    return _entry(told, page, True, colours.get(page, "black"), benchmark)


def _short(text: str) -> str:
    return textwrap.shorten(text, _WIDTH - 4, placeholder=" …")
