"""What a benchmark is made of: AmbER's Tables 3 and 4 for any benchmark with name sets."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.summary import collection_of, group_of
from whichone.records import NameSet, Query
from whichone.report.page import Section
from whichone.report.table import Cell, Table

TASKS = ("qa", "sf", "fc")


class PaperStatistics(msgspec.Struct, frozen=True):
    """A paper's own statistics of a benchmark: to print, and as tables for a page."""

    document: Any
    text: str
    tables: tuple[Table, ...] = ()


def paper_statistics(benchmark: Benchmark) -> dict[str, PaperStatistics]:
    """By paper, what those that know the benchmark's kind say of it (`STATISTICS`)."""
    offered: dict[str, Callable[[Benchmark], PaperStatistics | None]] = registry.every("statistics")
    described = {name: describe(benchmark) for name, describe in offered.items()}
    return {name: known for name, known in described.items() if known is not None}


def statistics_section(benchmark: Benchmark, redact: bool = False) -> Section:
    """A paper's own tables where it has some, else AmbER's for any benchmark."""
    own = [table for known in paper_statistics(benchmark).values() for table in known.tables]
    if own:
        return Section("The benchmark", own)
    tables = [set_statistics(benchmark)]
    relations = relation_shares(benchmark)
    if relations.rows:
        tables.append(relations)
    return Section("The benchmark", tables)


def set_statistics(benchmark: Benchmark) -> Table:
    """Table 4: sets, entities, properties and queries of each collection."""
    collections = sorted({group_of(q) for q in benchmark.queries})
    rows: list[list[Cell]] = [[what] for what in _FIGURES]
    for collection in collections:
        for row, value in zip(rows, _column(benchmark, collection), strict=True):
            row.append(value)
    rows = [row for row in rows if row[0] not in _TASK_ROWS or any(row[1:])]
    return Table(
        key="statistics",
        title="Statistics (AmbER, Table 4)",
        columns=("", *(c or benchmark.name for c in collections)),
        rows=rows,
        note="A set counts when it has queries; averages are per set.",
    )


_FIGURES = (
    "name sets",
    "entities per set",
    "entities with queries per set",
    "properties per set",
    "queries",
    "question answering",
    "slot filling",
    "fact checking",
)


_TASK_ROWS = _FIGURES[-3:]


def _column(benchmark: Benchmark, collection: str) -> list[Cell]:
    queries = [q for q in benchmark.queries if group_of(q) == collection]
    keys = {q.name_set for q in queries if q.name_set}
    sets = [s for s in benchmark.sets if s.id in keys]
    asked = {(q.name_set, q.entity) for q in queries if q.name_set}
    facts = {(q.name_set, q.entity, q.relation) for q in queries if q.name_set}
    tasks = Counter(q.task for q in queries)
    count = len(sets) or 1
    return [
        len(sets),
        sum(len(s.bearers) for s in sets) / count,
        len(asked) / count,
        len(facts) / count,
        len(queries),
        *(tasks.get(t, 0) for t in TASKS),
    ]


def relation_shares(benchmark: Benchmark) -> Table:
    """Table 3: how often each property of each type is asked for, by collection."""
    rows: list[list[Cell]] = []
    for name, collection in sorted({(group_of(q), collection_of(q)) for q in benchmark.queries}):
        queries = [q for q in benchmark.queries if q.relation and group_of(q) == name]
        keys = {q.name_set for q in queries}
        sets = [s for s in benchmark.sets if s.id in keys]
        for row in property_rows(sets, queries, collection):
            label = f"{row['label']} ({row['property']})" if row["label"] else row["property"]
            rows.append([name, row["type"], label, row["tuples"], 100 * row["share"]])
    typed = any(row[1] for row in rows)
    columns = ["collection", "type", "property", "facts", "percent"]
    if not typed:
        del columns[1]
        for line in rows:
            del line[1]
    return Table(
        key="properties",
        title="Distinguishing properties (AmbER, Table 3)",
        columns=columns,
        rows=rows,
        note="Facts that are asked for, by property, and their share of all facts of the collection.",
    )


def property_rows(
    sets: Sequence[NameSet], queries: Sequence[Query], collection: str
) -> list[dict[str, Any]]:
    """Table 3: each type and property with its share of all tuples."""
    types = {(s.id, b.entity): b.types for s in sets for b in s.bearers}
    tuples = {
        (q.name_set, q.entity, q.relation): q.attributes.get("property_label") for q in queries
    }
    named = registry.every("type_names").values()

    @functools.cache
    def type_name(entity_types: tuple[str, ...], relation: str) -> str:
        names = (name(collection, entity_types, relation) for name in named)
        return next(filter(None, names), entity_types[0] if entity_types else "")

    counts: Counter[tuple[str, str, str]] = Counter()
    for (name_set, entity, relation), label in tuples.items():
        kind = type_name(types.get((str(name_set), str(entity)), ()), str(relation))
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
