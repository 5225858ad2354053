"""AmbER's Tables 3 and 4 of a benchmark with name sets, for each of its collections."""

from __future__ import annotations

from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import members
from whichone.papers.amber.collection import builtin_names, load_collection
from whichone.papers.amber.statistics import SetStatistics
from whichone.report.name_set_tables import PaperStatistics, PropertyCounts

_TASKS = {"qa": "Question Answering", "sf": "Slot Filling", "fc": "Fact checking"}


def amber_statistics(benchmark: Benchmark) -> PaperStatistics | None:
    """Both tables as a document and as text; None where there are no AmbER queries."""
    counted: dict[str, tuple[SetStatistics, PropertyCounts]] = {}
    for name_set in benchmark.sets:
        counted.setdefault(
            name_set.collection, (SetStatistics(), PropertyCounts(name_set.collection))
        )
        counted[name_set.collection][0].add_set(name_set)
    asked = False
    for block in members(benchmark):
        for name_set, every in block:
            queries = [query for query in every if query.task in _TASKS]
            asked = asked or bool(queries)
            statistics, properties = counted[name_set.collection]
            statistics.add_queries(queries)
            properties.add(name_set, queries)
    if not asked:
        return None
    document: dict[str, Any] = {}
    lines: list[str] = []
    for key, (statistics, properties) in sorted(counted.items()):
        collection = load_collection(key) if key in builtin_names() else None
        table_3, table_4 = properties.rows(), statistics.table()
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
