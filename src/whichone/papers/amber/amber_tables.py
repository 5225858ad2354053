"""Tables and figures of the AmbER paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import members
from whichone.papers.amber.collection import AmberSet, Collection, builtin_names, load_collection
from whichone.records import NameSet, Query
from whichone.report.name_set_tables import TASKS, PaperStatistics, PropertyCounts
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Run

# The paper's Tables 3 and 4 of a benchmark: how often each property occurs, how large the sets are.


def property_shares(collection: Collection, sets: Sequence[AmberSet]) -> list[dict[str, Any]]:
    """Table 3: type, property, and its share of all tuples; an entity of two types counts for the
    first of them that lists the property."""
    counts: Counter[tuple[str, str]] = Counter()
    for amber_set in sets:
        for bearer in amber_set.bearers:
            for fact in bearer.tuples:
                kind = next(
                    key
                    for key, t in collection.types.items()
                    if t.id in bearer.types and fact.property in t.properties
                )
                counts[kind, fact.property] += 1
    total = sum(counts.values())
    return [
        {
            "type": t.label or key,
            "property": prop,
            "label": collection.label(prop),
            "tuples": counts[key, prop],
            "share": counts[key, prop] / total if total else 0.0,
        }
        for key, t in sorted(collection.types.items())
        for prop in sorted(t.properties)
    ]


def set_statistics(sets: Iterable[NameSet], queries: Iterable[Query]) -> dict[str, Any]:
    """Table 4: sets, averages a set, and queries by task."""
    statistics = SetStatistics()
    for name_set in sets:
        statistics.add_set(name_set)
    own: dict[str | None, list[Query]] = {}
    for query in queries:
        own.setdefault(query.name_set, []).append(query)
    for asked in own.values():
        statistics.add_queries(asked)
    return statistics.table()


class SetStatistics:
    """Table 4, counted one name set at a time."""

    def __init__(self) -> None:
        self.sets = self.bearers = self.asked = self.facts = 0
        self.tasks: Counter[str] = Counter()

    def add_set(self, name_set: NameSet) -> None:
        self.sets += 1
        self.bearers += len(name_set.bearers)

    def add_queries(self, queries: Sequence[Query]) -> None:
        """All queries of one name set."""
        self.asked += len({q.entity for q in queries})
        self.facts += len({(q.entity, q.relation) for q in queries})
        self.tasks.update(q.task for q in queries)

    def table(self) -> dict[str, Any]:
        count = self.sets or 1
        return {
            "sets": self.sets,
            "entities_per_set": self.bearers / count,
            "entities_with_properties_per_set": self.asked / count,
            "properties_per_set": self.facts / count,
            "queries": self.tasks.total(),
            **{f"queries_{task}": self.tasks[task] for task in sorted(self.tasks)},
        }


# AmbER's Tables 3 and 4 of a benchmark with name sets, for each of its collections.


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


# AmbER's Tables 2 and 10: an example of each task, and the templates that ask for each property.


def templates_section(
    runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False
) -> Section | None:
    """None where no query is of a known collection of name sets."""
    collections = sorted({s.collection for s in benchmark.sets} & set(builtin_names()))
    if not collections:
        return None
    tables = [] if redact else [tasks_table(benchmark)]
    return Section("How it is asked (AmbER)", [*tables, templates_table(collections, benchmark)])


def tasks_table(benchmark: Benchmark) -> Table:
    """Table 2: the first query of each task."""
    rows: list[Sequence[Cell]] = []
    for task, words in TASKS.items():
        asked = next((q for q in benchmark.queries if q.task == task and q.name_set), None)
        if asked is not None:
            rows.append((words, asked.input, next(iter(asked.answers()), "")))
    return Table(
        key="amber-tasks",
        title="Examples for each task (AmbER, Table 2)",
        columns=("task", "input", "output"),
        rows=rows,
        note="The first query of each task.",
    )


def templates_table(collections: Sequence[str], benchmark: Benchmark) -> Table:
    """Table 10: the templates of every property that is asked for."""
    used = {query.relation for query in benchmark.queries}
    rows: list[Sequence[Cell]] = []
    for name in collections:
        known = load_collection(name)
        for prop in known.property_ids:
            if prop in used:
                questions, claims = known.questions(prop, "en"), known.claims(prop, "en")
                said = (" ".join(questions), " ".join(claims))
                rows.append((known.name, known.label(prop), *said))
    return Table(
        key="amber-templates",
        title="Templates (AmbER, Table 10)",
        columns=("collection", "property", "question answering", "fact checking"),
        rows=rows,
        note="Those of the properties that this benchmark asks for; $name and $object are replaced.",
    )
