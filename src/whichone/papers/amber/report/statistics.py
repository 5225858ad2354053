"""AmbER's Tables 3 and 4 of a benchmark with name sets, for each of its collections."""

from __future__ import annotations

from collections import Counter
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.amber.collection import Collection, builtin_names, load_collection
from whichone.papers.amber.statistics import set_statistics
from whichone.records import NameSet, Query

_TASKS = {"qa": "Question Answering", "sf": "Slot Filling", "fc": "Fact checking"}


def amber_statistics(benchmark: Benchmark) -> tuple[dict[str, Any], str] | None:
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
        table_3 = property_rows(sets, own, collection)
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
    return document, "\n".join(lines).rstrip()


def property_rows(
    sets: list[NameSet], queries: list[Query], collection: Collection | None
) -> list[dict[str, Any]]:
    """Table 3: each type and property with its share of all tuples."""
    types = {(s.id, b.entity): b.types for s in sets for b in s.bearers}
    tuples = {
        (q.name_set, q.entity, q.relation): q.attributes.get("property_label") for q in queries
    }
    counts: Counter[tuple[str, str, str]] = Counter()
    for (name_set, entity, relation), label in tuples.items():
        kind = _type_name(types.get((str(name_set), str(entity)), ()), str(relation), collection)
        counts[kind, str(relation), str(label or "")] += 1
    return [
        {
            "type": kind,
            "property": relation,
            "label": label,
            "tuples": count,
            "share": count / len(tuples),
        }
        for (kind, relation, label), count in sorted(counts.items())
    ]


def _type_name(types: tuple[str, ...], relation: str, collection: Collection | None) -> str:
    for key, t in collection.types.items() if collection else ():
        if t.id in types and relation in t.properties:
            return t.label or key
    return types[0] if types else ""


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
