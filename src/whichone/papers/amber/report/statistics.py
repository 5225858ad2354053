"""AmbER's Tables 3 and 4 of a benchmark with name sets, for each of its collections."""

from __future__ import annotations

from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.amber.collection import builtin_names, load_collection
from whichone.papers.amber.statistics import set_statistics
from whichone.report.statistics import PaperStatistics, property_rows

_TASKS = {"qa": "Question Answering", "sf": "Slot Filling", "fc": "Fact checking"}


def amber_statistics(benchmark: Benchmark) -> PaperStatistics | None:
    """Both tables as a document and as text; None where there are no AmbER queries."""
    queries = [q for q in benchmark.queries if q.task in _TASKS and q.name_set is not None]
    if not queries or not benchmark.sets:
        return None
    document: dict[str, Any] = {}
    lines: list[str] = []
    for key in sorted({s.collection for s in benchmark.sets}):
        sets = [s for s in benchmark.sets if s.collection == key]
        ids = {s.id for s in sets}
        own = [q for q in queries if q.name_set in ids]
        collection = load_collection(key) if key in builtin_names() else None
        table_3 = property_rows(sets, own, key)
        table_4 = set_statistics(sets, own)
        document[key] = {"table_3": table_3, "table_4": table_4}
        title = collection.name if collection else key
        lines += [
            f"Table 4, {title}",
            *_table_4(table_4),
            f"Table 3, {title}",
            *_table_3(table_3),
            "",
        ]
    return PaperStatistics(document, "\n".join(lines).rstrip())


def _table_4(table: dict[str, Any]) -> list[str]:
    rows = [
        ("# AmbER Sets", f"{table['sets']:,}"),
        ("Averages per AmbER Set", ""),
        ("...# entities", f"{table['entities_per_set']:.2f}"),
        ("...# entities w/ properties", f"{table['entities_with_properties_per_set']:.2f}"),
        ("...# properties", f"{table['properties_per_set']:.2f}"),
        ("# Input Queries", f"{table['queries']:,}"),
    ]
    for task, words in _TASKS.items():
        if f"queries_{task}" in table:
            rows.append((f"... {words} ({task.upper()})", f"{table[f'queries_{task}']:,}"))
    return [f"  {name:<34}{value:>10}" for name, value in rows]


def _table_3(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"  {row['type']:<18}{row['label'] + ' (' + row['property'] + ')':<48}{100 * row['share']:>7.2f}"
        for row in rows
    ]
