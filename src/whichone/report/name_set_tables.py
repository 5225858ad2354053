"""AmbER's tables of results: accuracy (5 and 9), confusion (6), and example sets (1)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import asked_sets, rows_of_sets
from whichone.files.arrow_records import Selection
from whichone.measures.comparison import compare, holm
from whichone.measures.intervals import cluster_note
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, with_rows
from whichone.measures.summary import DEPTH, SummaryRow, group_of, rows_by_place, summarise
from whichone.report.table import Cell, Table

TASKS = {"fc": "fact checking", "sf": "slot filling", "qa": "question answering"}


def accuracy_table(systems: Sequence[Scores], k: int, number: int) -> Table:
    """Table 5 (k = 1) or 9 (k = 20): all, head, tail and all correct."""
    columns = ("all", "head", "tail", "all_correct")
    rows, marks = _ordered(systems, k, f"acc@{k}")
    return Table(
        key=f"accuracy-at-{k}",
        title=f"Top-{k} retrieval (AmbER, Table {number})",
        columns=(*rows[0].place, "system", "all", "head", "tail", "all correct"),
        rows=[(*_place(row), *(row.values[c] for c in columns)) for row in rows],
        note=(
            f"Percent of queries with a gold page among the first {k}; all correct: percent of name sets "
            f"with every query right. {cluster_note(systems[0].queries)}. " + _marked(systems)
        ),
        marks=marks,
    )


def _place(row: SummaryRow) -> tuple[str, ...]:
    return *({**row.place, "task": TASKS.get(row.task, row.task)}).values(), row.system


def _marked(systems: Sequence[Scores]) -> str:
    if len(systems) < 2:
        return ""
    return (
        f"An asterisk marks a figure that differs from {systems[0].system}'s in the same rows (paired "
        "permutation test by cluster, Holm-corrected over the table, p < 0.05)."
    )


def _ordered(
    systems: Sequence[Scores], k: int, measure: str
) -> tuple[list[SummaryRow], dict[tuple[int, int], str]]:
    """Rows by collection and task, and marks where a system differs from the first one there."""
    rows = sorted(
        (row for scores in systems for row in summarise(scores, k)),
        key=_key,
    )
    tested: list[tuple[int, float]] = []
    for key in dict.fromkeys(map(_key, rows)) if len(systems) > 1 else ():
        parts = [with_rows(s, rows_by_place(s.queries)[key]) for s in systems]
        comparisons = compare(parts, parse_measures([measure]), baseline=systems[0].system)
        p_values = {c.b: c.p for c in comparisons if c.difference.n}
        tested += [
            (i, p_values[r.system])
            for i, r in enumerate(rows)
            if _key(r) == key and r.system in p_values
        ]
    corrected = holm([p for _, p in tested])
    figure = len(_place(rows[0]))
    marks = {(i, figure): "*" for (i, _), p in zip(tested, corrected, strict=True) if p < 0.05}
    return rows, marks


def _key(row: SummaryRow) -> tuple[str, str, str]:
    return row.benchmark, row.collection, row.task


def confusion_table(systems: Sequence[Scores]) -> Table:
    """Table 6: how often a page of another bearer ranks above the gold page."""
    columns = ("confused", "confused_head", "confused_tail")
    rows, marks = _ordered(systems, 1, f"confused@{DEPTH}")
    return Table(
        key="confusion",
        title="Entity confusion (AmbER, Table 6)",
        columns=(*rows[0].place, "system", "all", "head", "tail"),
        rows=[(*_place(row), *(row.values[c] for c in columns)) for row in rows],
        note=(
            f"Percent of queries where a page of another bearer of the name ranks above the first gold page "
            f"within {DEPTH} pages; gold that is not retrieved ranks last. The definition is ours: no "
            f"released program computes it. {_marked(systems)}"
        ),
        marks=marks,
    )


def example_sets(benchmark: Benchmark, most: int = 4) -> Table:
    """Table 1: a few name sets with their bearers' queries."""
    wanted = ("Napoleon", "Yoko Ono", "Apple", "Her")
    sets = heapq.nsmallest(most, benchmark.sets, key=lambda s: (s.name not in wanted, s.name))
    asked = asked_sets(benchmark.queries)
    rows_of = rows_of_sets(
        asked.numbers, [n for n in asked.of([s.id for s in sets]) if n is not None]
    )
    chosen = [q for q in Selection(benchmark.queries, rows_of) if q.task == "qa"]
    titles = benchmark.page_titles
    rows: list[Sequence[Cell]] = []
    order = sorted(
        chosen,
        key=lambda q: (group_of(q), q.name or "", q.role or "", q.entity or "", q.input),
    )
    for query in order:
        gold = ", ".join(titles.get(p, p) for p in sorted(query.gold_pages()))
        answers = query.answers()
        key = (group_of(query), query.name or "", query.entity or "", query.input)
        rows.append((*key, answers[0] if answers else "", gold))
    return Table(
        key="examples",
        title="Examples of name sets (AmbER, Table 1)",
        columns=("collection", "name", "entity", "input", "answer", "gold page"),
        rows=rows,
        note=(
            "Each name is shared by several entities, the most popular one first. What a query asks can be "
            "said of one of them only, so it can be resolved without knowing who is meant."
        ),
    )
