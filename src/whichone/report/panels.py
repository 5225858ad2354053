"""The most telling names: bearers, popularity, queries, and what each system put first."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

import msgspec

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.retrieval import kind_of_page
from whichone.measures.scores import Scores
from whichone.records import NameSet, Query
from whichone.runs.run import Run

MOST = 200
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
    runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark, most: int = MOST
) -> list[Panel]:
    """Names by how much they tell: confused queries first, then queries on which the systems differ."""
    tops = {scores.system: run.ranked_pages() for run, scores in zip(runs, systems, strict=True)}
    failures = {scores.system: run.failures for run, scores in zip(runs, systems, strict=True)}
    members: dict[str, list[Query]] = {}
    for query in benchmark.queries:
        if query.name_set:
            members.setdefault(query.name_set, []).append(query)
    panels = []
    for name_set in benchmark.sets:
        queries = members.get(name_set.id)
        if not queries:
            continue
        rows = [(q, [_first(s, q, tops[s], failures[s], benchmark) for s in tops]) for q in queries]
        panels.append(
            Panel(name_set, rows, _telling([f for _, row_facts in rows for f in row_facts], rows))
        )
    panels.sort(key=lambda p: (-p.telling, p.name_set.name, p.name_set.id))
    labels = BearerLabels(benchmark)
    return [_titled(panel, labels) for panel in panels[:most]]


def _titled(panel: Panel, labels: BearerLabels) -> Panel:
    """With what came first as people know it, looked up for the panels that are shown alone."""

    def titled(first: First) -> First:
        if first.page is None:
            return first
        label = labels.of_page(first.page, panel.name_set.id)
        return msgspec.structs.replace(first, title=label)

    queries = [(query, [titled(f) for f in firsts]) for query, firsts in panel.queries]
    return msgspec.structs.replace(panel, queries=queries)


def _first(
    system: str,
    query: Query,
    pages: Mapping[str, Sequence[str]],
    failures: Mapping[str, str],
    benchmark: Benchmark,
) -> First:
    if query.id in failures:
        return First(system, None, "failed", "failed")
    ranked = pages.get(query.id, ())
    if not ranked:
        return First(system, None, "nothing", "nothing")
    page = ranked[0]
    kind = kind_of_page(page, query.gold_pages(), benchmark.other_pages(query))
    return First(system, page, page, kind)


def _telling(firsts: Sequence[First], rows: Sequence[tuple[Query, list[First]]]) -> float:
    confused = sum(f.kind == "namesake" for f in firsts) / len(firsts) if firsts else 0.0
    differ = (
        sum(len({f.kind == "gold" for f in fs}) > 1 for _, fs in rows) / len(rows) if rows else 0.0
    )
    return confused + differ


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
