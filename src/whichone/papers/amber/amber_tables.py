"""Tables and figures of the AmbER paper."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import members
from whichone.papers.amber.collection import (
    NAME_SLOT,
    OBJECT_SLOT,
    AmberSet,
    Collection,
    builtin_names,
    load_builtin,
)
from whichone.papers.amber.instantiate import clean_template
from whichone.records import NameSet, Query
from whichone.report.name_set_tables import TASKS, PaperStatistics, PropertyCounts
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Run


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


_TASKS = {"qa": "Question Answering", "sf": "Slot Filling", "fc": "Fact checking"}


def amber_statistics(benchmark: Benchmark) -> PaperStatistics | None:
    """Both tables as a document and as text; None where there are no AmbER queries."""
    counted: dict[str, tuple[SetStatistics, PropertyCounts]] = {}
    for name_set in benchmark.sets:
        counted.setdefault(name_set.collection, (SetStatistics(), PropertyCounts(name_set.collection)))
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
        collection = load_builtin(key) if key in builtin_names() else None
        table_3, table_4 = properties.rows(), statistics.table()
        document[key] = {"table_3": table_3, "table_4": table_4}
        title = collection.name if collection else key
        lines += [f"Table 4, {title}", *_table_4(table_4), f"Table 3, {title}"]
        for row in table_3:
            name = f"{row['label']} ({row['property']})"
            lines.append(f"  {row['type']:<18}{name:<48}{100 * row['share']:>7.2f}")
        lines.append("")
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


def templates_section(runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False) -> Section | None:
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
    """Table 10: the templates by which every property is asked for."""
    asked: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for query in benchmark.queries:
        key = (str(query.attributes.get("collection")), str(query.relation))
        if query.task in ("qa", "fc") and key[0] in collections:
            known = load_builtin(key[0])
            templates = asked.setdefault(key, {"qa": Counter(), "fc": Counter()})
            templates[query.task][template_of(query, known)] += 1
    rows: list[Sequence[Cell]] = []
    for name in collections:
        known = load_builtin(name)
        for prop in known.property_ids:
            if used := asked.get((name, prop)):
                said = (" ".join(t for t, _ in used[task].most_common()) for task in ("qa", "fc"))
                rows.append((known.name, known.label(prop), *said))
    return Table(
        key="amber-templates",
        title="Templates (AmbER, Table 10)",
        columns=("collection", "property", "question answering", "fact checking"),
        rows=rows,
        note="As this benchmark asks, the most frequent first; $name and $object are replaced.",
    )


_GRAMMAR = re.compile(r"\b(?:an?|the|was|were)\s+|(?<=\bseason)s\b|[.?! ]+$", re.IGNORECASE)


def _plain(text: str) -> str:
    return _GRAMMAR.sub("", text)


def template_of(query: Query, collection: Collection) -> str:
    """The template that a question or claim was made from, the most specific that fits.

    It fits to the letter, else but for articles, number and final stops, else with another spelling of the name. Where
    none does, as for a property without templates, it is the text with $name for the name.
    """
    known = collection.questions if query.task == "qa" else collection.claims
    released = known(str(query.relation), query.language)
    templates = sorted({*released, *map(clean_template, released)}, key=lambda t: (-len(t), t))
    for plain, anyone in ((str, False), (_plain, False), (_plain, True)):
        name = ".+" if anyone else re.escape(plain(query.name or ""))
        for template in templates:
            pattern = re.escape(plain(template)).replace(re.escape(NAME_SLOT), name)
            pattern = pattern.replace(re.escape(OBJECT_SLOT), ".+")
            if re.fullmatch(pattern, plain(query.input)):
                return template
    claimed = str(query.attributes.get("claimed") or "")
    shown = query.input.replace(claimed, OBJECT_SLOT, 1) if claimed else query.input
    return shown.replace(query.name, NAME_SLOT, 1) if query.name else shown
