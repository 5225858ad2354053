"""AmbER's tables of results: accuracy (5 and 9), confusion (6), and example sets (1)."""

import functools
import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import asked_sets, members, rows_of_sets
from whichone.files.arrow_records import Seen, Selection
from whichone.measures.comparison import compare, holm
from whichone.measures.intervals import cluster_note
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, with_rows
from whichone.measures.summary import DEPTH, SummaryRow, collection_of, group_of, rows_by_place, summarise
from whichone.records import NameSet, Query, grouped
from whichone.report.page import Cell, Section, Table

TASKS = {"fc": "fact checking", "sf": "slot filling", "qa": "question answering"}


def accuracy_table(systems: Sequence[Scores], k: int, number: int) -> Table:
    """Table 5 (k = 1) or 9 (k = 20): all, head, tail and all correct."""
    rows, marks = _ordered(systems, k, f"acc@{k}")
    columns = _known(rows, "all", "head", "tail", "all_correct")
    return Table(
        key=f"accuracy-at-{k}",
        title=f"Top-{k} retrieval (AmbER, Table {number})",
        plain=f"Right {'first' if k == 1 else f'among the first {k}'} (AmbER, Table {number})",
        columns=(*rows[0].place, "system", *(c.replace("_", " ") for c in columns)),
        rows=[(*_place(row), *(row.values[c] for c in columns)) for row in rows],
        note=(
            f"Percent of queries with a gold page among the first {k}; all correct: percent of name sets "
            f"with every query right. {cluster_note(systems[0].queries)}. " + _marked(systems)
        ),
        marks=marks,
    )


def _known(rows: Sequence[SummaryRow], *columns: str) -> list[str]:
    """The columns that have a figure: nothing is head or tail where nobody is known to be more popular."""
    return [c for c in columns if any(row.values[c].n for row in rows)] or list(columns[:1])


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
    rows = sorted((row for scores in systems for row in summarise(scores, k)), key=_key)
    tested: list[tuple[int, float]] = []
    for key in dict.fromkeys(map(_key, rows)) if len(systems) > 1 else ():
        parts = [with_rows(s, rows_by_place(s.queries)[key]) for s in systems]
        comparisons = compare(parts, parse_measures([measure]), baseline=systems[0].system)
        p_values = {c.b: c.p for c in comparisons if c.difference.value is not None}
        tested += [
            (i, p_values[r.system]) for i, r in enumerate(rows) if _key(r) == key and r.system in p_values
        ]
    corrected = holm([p for _, p in tested])
    figure = len(_place(rows[0]))
    return rows, {(i, figure): "*" for (i, _), p in zip(tested, corrected, strict=True) if p < 0.05}


def _key(row: SummaryRow) -> tuple[str, str, str]:
    return row.benchmark, row.collection, row.task


def confusion_table(systems: Sequence[Scores]) -> Table:
    """Table 6: how often a page of another bearer ranks above the gold page."""
    rows, marks = _ordered(systems, 1, f"confused@{DEPTH}")
    columns = _known(rows, "confused", "confused_head", "confused_tail")
    return Table(
        key="confusion",
        title="Entity confusion (AmbER, Table 6)",
        plain="Fell for a namesake (AmbER, Table 6)",
        columns=(*rows[0].place, "system", "all", *(c[9:] for c in columns[1:])),
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
    rows_of = rows_of_sets(asked.numbers, [n for n in asked.of([s.id for s in sets]) if n is not None])
    chosen = [q for q in Selection(benchmark.queries, rows_of) if q.task == "qa"]
    titles = benchmark.page_titles
    rows: list[Sequence[Cell]] = []
    order = sorted(chosen, key=lambda q: (group_of(q), q.name or "", q.role or "", q.entity or "", q.input))
    for query in order:
        gold = ", ".join(titles.get(p, p) for p in sorted(query.gold_pages()))
        answers = query.answers()
        key = group_of(query), query.name or "", query.input
        rows.append((*key, answers[0] if answers else "", gold))
    return Table(
        key="examples",
        title="Examples of name sets (AmbER, Table 1)",
        columns=("collection", "name", "input", "answer", "gold page"),
        rows=rows,
        note=(
            "Each name is shared by several entities, the most popular one first. What a query asks can be "
            "said of one of them only, so it can be resolved without knowing who is meant."
        ),
    )


# What a benchmark is made of: AmbER's Tables 3 and 4 for any benchmark with name sets.
STATISTICS_TASKS = ("qa", "sf", "fc")


class PaperStatistics(msgspec.Struct, frozen=True):
    """A paper's own statistics of a benchmark: to print, and as tables for a page."""

    document: Any
    text: str
    tables: tuple[Table, ...] = ()


def paper_statistics(benchmark: Benchmark) -> dict[str, PaperStatistics]:
    """By paper, what those that know the benchmark's kind say of it (`STATISTICS`)."""
    described = {name: describe(benchmark) for name, describe in registry.every("statistics").items()}
    return {name: known for name, known in described.items() if known is not None}


def statistics_section(benchmark: Benchmark, redact: bool = False) -> Section:
    """A paper's own tables where it has some, else AmbER's for any benchmark."""
    own = [table for known in paper_statistics(benchmark).values() for table in known.tables]
    if not own:
        own = [set_statistics(benchmark), *filter(lambda table: table.rows, [relation_shares(benchmark)])]
    return Section("The benchmark", own)


def set_statistics(benchmark: Benchmark) -> Table:
    counted: dict[str, SetCounts] = {}
    for query in benchmark.queries:
        counted.setdefault(group_of(query), SetCounts()).tasks[query.task] += 1
    for name_set, queries in chain.from_iterable(members(benchmark)):
        own = grouped((group_of(query), query) for query in queries)
        for collection, asked in own.items():
            counted[collection].add_set(name_set)
            counted[collection].add_facts(asked)
    figures = [counts.figures() for _, counts in sorted(counted.items())]
    shown = {
        "sets": "name sets",
        "entities_per_set": "entities per set",
        "entities_with_properties_per_set": "entities with queries per set",
        "properties_per_set": "properties per set",
        "queries": "queries",
    } | {f"queries_{task}": TASKS[task] for task in STATISTICS_TASKS}
    rows: list[list[Cell]] = [[what, *(own.get(key, 0) for own in figures)] for key, what in shown.items()]
    return Table(
        key="statistics",
        title="Statistics (AmbER, Table 4)",
        columns=("", *(c or benchmark.name for c in sorted(counted))),
        rows=[row for row in rows if row[0] not in TASKS.values() or any(row[1:])],
        note="A set counts when it has queries; averages are per set.",
    )


class SetCounts:
    """Table 4, counted one name set at a time; `tasks` counts queries."""

    def __init__(self) -> None:
        self.sets = self.bearers = self.asked = self.facts = 0
        self.tasks: Counter[str] = Counter()

    def add_set(self, name_set: NameSet) -> None:
        self.sets += 1
        self.bearers += len(name_set.bearers)

    def add_facts(self, queries: Sequence[Query]) -> None:
        """What is asked about the bearers of one name set."""
        self.asked += len({q.entity for q in queries})
        self.facts += len({(q.entity, q.relation) for q in queries})

    def figures(self) -> dict[str, float]:
        count = self.sets or 1
        return {
            "sets": self.sets,
            "entities_per_set": self.bearers / count,
            "entities_with_properties_per_set": self.asked / count,
            "properties_per_set": self.facts / count,
            "queries": self.tasks.total(),
            **{f"queries_{task}": self.tasks[task] for task in sorted(self.tasks)},
        }


def relation_shares(benchmark: Benchmark) -> Table:
    """Table 3: how often each property of each type is asked for, by collection."""
    rows: list[list[Cell]] = []
    counted: dict[tuple[str, str], PropertyCounts] = {}
    for name_set, queries in chain.from_iterable(members(benchmark)):
        own = grouped(((group_of(query), collection_of(query)), query) for query in queries if query.relation)
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
    return Table(
        key="properties",
        title="Distinguishing properties (AmbER, Table 3)",
        columns=columns if typed else [columns[0], *columns[2:]],
        rows=rows if typed else [[row[0], *row[2:]] for row in rows],
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
        types = {b.entity: b.types for b in name_set.bearers}
        facts = {(q.entity, q.relation): q.attributes.get("property_label") for q in queries}
        for (entity, relation), label in facts.items():
            kind = self._type_name(types.get(str(entity), ()), str(relation))
            self._counts[kind, str(relation), str(label or "")] += 1

    def alone(self, query: Query) -> None:
        if self._alone.add_one(f"{query.entity}\t{query.relation}") is None:
            label = str(query.attributes.get("property_label") or "")
            self._counts[self._type_name((), str(query.relation)), str(query.relation), label] += 1

    def rows(self) -> list[dict[str, Any]]:
        total = self._counts.total()
        return [
            {"type": kind, "property": relation, "label": label, "tuples": n, "share": n / total}
            for (kind, relation, label), n in sorted(self._counts.items())
        ]
