"""AmbER's Figure 1: two questions about two bearers of one name, and what each system ranks first."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import msgspec

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import members
from whichone.records import NameSet, Query
from whichone.report.figure import GREY, HEAD, TAIL, Figure, drawing, finish, shortened
from whichone.report.first_results import first_kind
from whichone.runs.run import of_many

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
    right: tuple[str, ...]
    """Systems that put gold first for both."""
    half: tuple[str, ...]
    """Systems that find the first one and put a namesake first for the second."""

    @property
    def telling(self) -> tuple[bool, int]:
        """Whether the systems differ, and how many of them show what it is about."""
        return bool(self.right and self.half), len(self.half)

    def shown(self, systems: Sequence[str]) -> list[str]:
        """A few systems in their order, of both kinds where there are both."""
        first = [*self.right[: MOST_SYSTEMS // 2], *self.half[: MOST_SYSTEMS // 2]]
        rest = [s for s in systems if s not in first]
        chosen = {*first, *rest[: MOST_SYSTEMS - len(first)]}
        return [s for s in systems if s in chosen]


def clearest_pair(ranked: Mapping[str, Ranked], benchmark: Benchmark) -> Pair | None:
    """A pair on which systems differ, and that most of the others get half right; the first name in order."""
    best: tuple[tuple[bool, int], tuple[str, str], Pair] | None = None
    for block in members(benchmark):
        tops = _tops(ranked, block, benchmark)
        for name_set, every in block:
            queries = [query for query in every if query.task == "qa"]
            head = next((b.entity for b in name_set.bearers if b.role == "head"), None)
            lead = head or next((q.entity for q in queries), None)
            name = (name_set.name, name_set.id)
            for first in (q for q in queries if q.entity == lead):
                for second in (q for q in queries if q.entity != lead):
                    pair = _pair(tops, first, second)
                    rivals = best is None or pair.telling > best[0]
                    if rivals or (best and pair.telling == best[0] and name < best[1]):
                        best = pair.telling, name, pair
    return best[2] if best else None


def _tops(
    ranked: Mapping[str, Ranked],
    block: Sequence[tuple[NameSet, Sequence[Query]]],
    benchmark: Benchmark,
) -> dict[str, dict[str, str]]:
    """By system the kind of the first page of each query of a block."""
    queries = [query for _, own in block for query in own]
    ids, others = [query.id for query in queries], benchmark.others_of(queries)
    return {
        system: {
            query.id: first_kind(query.id, list_of, query.gold_pages(), other, {})
            for query, list_of, other in zip(queries, of_many(pages, ids), others, strict=True)
        }
        for system, pages in ranked.items()
    }


def _pair(tops: Mapping[str, Mapping[str, str]], first: Query, second: Query) -> Pair:
    kinds = {system: (top[first.id], top[second.id]) for system, top in tops.items()}
    right = tuple(system for system, both in kinds.items() if both == ("gold", "gold"))
    half = tuple(system for system, both in kinds.items() if both == ("gold", "namesake"))
    return Pair(first, second, right, half)


def example_figure(ranked: Mapping[str, Ranked], benchmark: Benchmark) -> Figure | None:
    """Figure 1: a row for each system, its ranking for both questions side by side."""
    pair = clearest_pair(ranked, benchmark)
    if pair is None:
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
            "A question about each of two bearers, and the pages that each system ranks first. Red is a page "
            "of the first bearer, blue one of the second; bold is the gold page. "
            f"{len(pair.right)} of {len(ranked)} systems put the gold page first for both questions, "
            f"{len(pair.half)} put a namesake first for the second.",
        )


def _column(
    query: Query, systems: Mapping[str, Ranked], pair: Pair, labels: BearerLabels
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
