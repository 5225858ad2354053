"""What a benchmark is made of: AmbER's Tables 3 and 4 for any benchmark with name sets."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import members
from whichone.files.arrow_records import Seen
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
    counted: dict[str, _SetCounts] = {}
    for query in benchmark.queries:
        counted.setdefault(group_of(query), _SetCounts()).tasks[query.task] += 1
    for name_set, queries in _each(benchmark):
        own: dict[str, list[Query]] = {}
        for query in queries:
            own.setdefault(group_of(query), []).append(query)
        for collection, asked in own.items():
            counted[collection].add(name_set, asked)
    collections = sorted(counted)
    rows: list[list[Cell]] = [[what] for what in _FIGURES]
    for collection in collections:
        for row, value in zip(rows, counted[collection].column(), strict=True):
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


def _each(benchmark: Benchmark) -> Iterator[tuple[NameSet, list[Query]]]:
    return (pair for block in members(benchmark) for pair in block)


class _SetCounts:
    """What is counted of one collection's name sets and queries."""

    def __init__(self) -> None:
        self.sets = self.bearers = self.asked = self.facts = 0
        self.tasks: Counter[str] = Counter()

    def add(self, name_set: NameSet, queries: Sequence[Query]) -> None:
        self.sets += 1
        self.bearers += len(name_set.bearers)
        self.asked += len({q.entity for q in queries})
        self.facts += len({(q.entity, q.relation) for q in queries})

    def column(self) -> list[Cell]:
        count = self.sets or 1
        return [
            self.sets,
            self.bearers / count,
            self.asked / count,
            self.facts / count,
            self.tasks.total(),
            *(self.tasks.get(t, 0) for t in TASKS),
        ]


def relation_shares(benchmark: Benchmark) -> Table:
    """Table 3: how often each property of each type is asked for, by collection."""
    rows: list[list[Cell]] = []
    counted: dict[tuple[str, str], PropertyCounts] = {}
    for name_set, queries in _each(benchmark):
        own: dict[tuple[str, str], list[Query]] = {}
        for query in queries:
            if query.relation:
                own.setdefault((group_of(query), collection_of(query)), []).append(query)
        for key, asked in own.items():
            counted.setdefault(key, PropertyCounts(key[1])).add(name_set, asked)
    for query in benchmark.queries:  # facts that are asked for without a name that others share
        if query.relation and not query.name_set:
            key = (group_of(query), collection_of(query))
            counted.setdefault(key, PropertyCounts(key[1])).alone(query)
    for (name, _), counts in sorted(counted.items()):
        for row in counts.rows():
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


class PropertyCounts:
    """Table 3: how often each type and property of one collection is asked for; a fact counts once."""

    def __init__(self, collection: str) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._alone = Seen()
        named = registry.every("type_names").values()

        @functools.cache
        def type_name(entity_types: tuple[str, ...], relation: str) -> str:
            names = (name(collection, entity_types, relation) for name in named)
            return next(filter(None, names), entity_types[0] if entity_types else "")

        self._type_name = type_name

    def add(self, name_set: NameSet, queries: Sequence[Query]) -> None:
        """The facts that one name set's queries ask for."""
        types = {b.entity: b.types for b in name_set.bearers}
        facts = {(q.entity, q.relation): q.attributes.get("property_label") for q in queries}
        for (entity, relation), label in facts.items():
            kind = self._type_name(types.get(str(entity), ()), str(relation))
            self._counts[kind, str(relation), str(label or "")] += 1

    def alone(self, query: Query) -> None:
        """A fact of an entity that has no name set."""
        if self._alone.add_one(f"{query.entity}\t{query.relation}") is None:
            label = str(query.attributes.get("property_label") or "")
            self._counts[self._type_name((), str(query.relation)), str(query.relation), label] += 1

    def rows(self) -> list[dict[str, Any]]:
        """Each type and property with its share of all facts."""
        total = self._counts.total()
        return [
            {"type": kind, "property": relation, "label": label, "tuples": n, "share": n / total}
            for (kind, relation, label), n in sorted(self._counts.items())
        ]
