"""What a benchmark is made of: AmbER's Tables 3 and 4 for any benchmark with name sets."""

from __future__ import annotations

from collections import Counter

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.summary import collection_of
from whichone.papers.amber.collection import builtin_names, load_collection
from whichone.papers.amber.report.statistics import property_rows
from whichone.papers.kilt.report.statistics import statistics_table
from whichone.papers.kilt.statistics import is_kilt
from whichone.report.page import Section
from whichone.report.table import Cell, Table

TASKS = ("qa", "sf", "fc")


def statistics_section(benchmark: Benchmark, redact: bool = False) -> Section:
    if is_kilt(benchmark.queries):
        return Section("The benchmark", [statistics_table(benchmark)])
    tables = [set_statistics(benchmark)]
    relations = relation_shares(benchmark)
    if relations.rows:
        tables.append(relations)
    return Section("The benchmark", tables)


def set_statistics(benchmark: Benchmark) -> Table:
    """Table 4: sets, entities, properties and queries of each collection."""
    collections = sorted({collection_of(q) for q in benchmark.queries})
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
    queries = [q for q in benchmark.queries if collection_of(q) == collection]
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
    for name in sorted({collection_of(q) for q in benchmark.queries}):
        queries = [q for q in benchmark.queries if q.relation and collection_of(q) == name]
        keys = {q.name_set for q in queries}
        known = load_collection(name) if name in builtin_names() else None
        sets = [s for s in benchmark.sets if s.id in keys]
        for row in property_rows(sets, queries, known):
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
