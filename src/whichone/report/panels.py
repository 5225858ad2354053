"""The most telling names: bearers, popularity, queries, and what each system put first."""

from __future__ import annotations

import heapq
import html
import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import asked_sets, rows_of_sets
from whichone.files.arrow_records import IN_MEMORY, Selection, blocks, numbers
from whichone.measures.scores import Scores
from whichone.records import NameSet, Query
from whichone.report.first_results import (
    GOLD,
    NAMESAKE,
    Codes,
    FirstResults,
    first_kind,
    first_results,
)
from whichone.runs.run import Run, of_many

MOST = 200
_BLOCK = 4_096
_SIGNS = {"gold": "✓", "namesake": "✗", "nothing": "∅", "failed": "∅"}


class First(msgspec.Struct, frozen=True):
    """What one system put first for one query."""

    system: str
    page: str | None
    title: str
    kind: str  # gold, namesake, other, nothing, failed


class Panel(msgspec.Struct, frozen=True):
    name_set: NameSet
    queries: list[tuple[Query, list[First]]]
    telling: float


def clearest_panels(
    runs: Sequence[Run],
    systems: Sequence[Scores],
    benchmark: Benchmark,
    most: int = MOST,
    results: FirstResults | None = None,
) -> list[Panel]:
    """Names by how much they tell: confused queries first, then queries on which the systems differ."""
    results = results or first_results(runs, systems, benchmark)
    if not results.any_set:
        return []
    asked = asked_sets(benchmark.queries)
    telling = _telling(list(results.kinds.values()), asked.numbers)

    def candidates() -> Iterator[tuple[tuple[float, str, str], NameSet, int]]:
        for block in blocks(benchmark.sets, _BLOCK):
            for name_set, number in zip(block, asked.of([s.id for s in block]), strict=True):
                if number is not None:
                    key = (-float(telling[number]), name_set.name, name_set.id)
                    yield key, name_set, number

    best = heapq.nsmallest(most, candidates(), key=lambda candidate: candidate[0])
    rows = rows_of_sets(asked.numbers, [number for *_, number in best])
    members: dict[str, list[tuple[Query, list[First]]]] = {}
    for query, firsts in _with_firsts(
        list(Selection(benchmark.queries, rows)), runs, systems, benchmark
    ):
        members.setdefault(query.name_set or "", []).append((query, firsts))
    labels = BearerLabels(benchmark)
    panels = [Panel(s, members[s.id], -telling) for (telling, *_), s, _ in best]
    return [_titled(panel, labels) for panel in panels]


def _telling(kinds: Sequence[Codes], sets: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """For each name set, at the place of its first query: the share of firsts that are a namesake's, and of queries on which systems differ."""
    counts, confused, differ = (numbers(len(sets), np.float64) for _ in range(3))
    for start in range(0, len(sets), IN_MEMORY):
        part = np.stack([codes[start : start + IN_MEMORY] for codes in kinds])
        own = sets[start : start + IN_MEMORY]
        asked = own >= 0
        right = part == GOLD
        np.add.at(counts, own[asked], 1.0)
        np.add.at(confused, own[asked], (part == NAMESAKE).sum(0)[asked])
        np.add.at(differ, own[asked], (right.any(0) & ~right.all(0))[asked])
    telling: npt.NDArray[np.float64] = numbers(len(sets), np.float64)
    for start in range(0, len(sets), IN_MEMORY):
        where = slice(start, start + IN_MEMORY)
        often = np.maximum(counts[where], 1)
        telling[where] = confused[where] / (often * len(kinds)) + differ[where] / often
    return telling


def _with_firsts(
    queries: Sequence[Query], runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark
) -> Iterator[tuple[Query, list[First]]]:
    """Queries with what each system put first."""
    others = benchmark.others_of(queries)
    tops = [of_many(run.ranked_pages(), [query.id for query in queries]) for run in runs]
    for n, query in enumerate(queries):
        firsts = []
        for run, scores, lists in zip(runs, systems, tops, strict=True):
            kind = first_kind(query.id, lists[n], query.gold_pages(), others[n], run.failures)
            page = lists[n][0] if lists[n] and kind != "failed" else None
            firsts.append(First(scores.system, page, page or kind, kind))
        yield query, firsts


def _titled(panel: Panel, labels: BearerLabels) -> Panel:
    """With what came first as people know it, looked up for the panels that are shown alone."""

    def titled(first: First) -> First:
        if first.page is None:
            return first
        label = labels.of_page(first.page, panel.name_set.id)
        return msgspec.structs.replace(first, title=label)

    queries = [(query, [titled(f) for f in firsts]) for query, firsts in panel.queries]
    return msgspec.structs.replace(panel, queries=queries)


def panel_html(panel: Panel, known: BearerLabels, *, number: int = 1, redact: bool = False) -> str:
    """One name as a folded panel; with `redact`, names and texts are replaced by their order.

    The id of a name set may contain the name: it is shown as little as the name itself.
    """
    name = f"name {number}" if redact else panel.name_set.name
    labels = known.of_set(panel.name_set)
    bearers = "".join(
        _bearer(n, panel.name_set, labels, redact) for n in range(len(panel.name_set.bearers))
    )
    queries = "".join(
        _query(q, query_facts, n, known, redact) for n, (q, query_facts) in enumerate(panel.queries)
    )
    wrong = sum(f.kind == "namesake" for _, query_facts in panel.queries for f in query_facts)
    return (
        f'<details class="panel"><summary><b>{html.escape(name)}</b> · {len(panel.name_set.bearers)} bearers · '
        f"{wrong} confusions</summary><table><thead><tr><th>bearer<th>role<th>popularity</tr></thead>"
        f"<tbody>{bearers}</tbody></table><table><thead><tr><th>query<th>about<th>put first</tr></thead>"
        f"<tbody>{queries}</tbody></table></details>"
    )


def _bearer(n: int, name_set: NameSet, labels: Sequence[str], redact: bool) -> str:
    b = name_set.bearers[n]
    label = f"bearer {n + 1}" if redact else labels[n]
    width = 12 * math.log10(b.popularity + 1) if b.popularity else 0
    shown = (
        f'<span class="bar" style="width:{width:.0f}px"></span> {b.popularity:,.0f}'
        if b.popularity
        else "–"
    )
    return f"<tr><td>{html.escape(label)}<td>{b.role or '–'}<td>{shown}</tr>"


def _query(
    query: Query, all_firsts: Sequence[First], n: int, known: BearerLabels, redact: bool
) -> str:
    text = f"query {n + 1}" if redact else query.input
    gold = next(
        (known.of_page(p, query.name_set) for p in sorted(query.gold_pages())), query.entity
    )
    about = query.role or "–" if redact else (gold or "–")
    marks = {"gold": "gold", "namesake": "namesake"}
    firsts = "<br>".join(
        f"{html.escape(f.system)}: <span class='{marks.get(f.kind, '')}'>"
        f"{_SIGNS.get(f.kind, '–')} {html.escape(f.kind if redact else f.title)}</span> "
        f"{'' if redact else f'({f.kind})'}"
        for f in all_firsts
    )
    return f"<tr><td>{html.escape(text)}<td>{html.escape(str(about))}<td>{firsts}</tr>"
