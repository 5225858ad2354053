"""Tables and figures of the AmbER paper."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
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
from whichone.report.name_set_tables import TASKS, PaperStatistics, PropertyCounts, SetCounts
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Run


def property_shares(collection: Collection, sets: Sequence[AmberSet]) -> list[dict[str, Any]]:
    """Table 3: type, property, and its share of all tuples; an entity of two types counts for the
    first of them that lists the property."""
    facts = ((b, fact.property) for s in sets for b in s.bearers for fact in b.tuples)
    counts = Counter(
        next((key, p) for key, t in collection.types.items() if t.id in bearer.types and p in t.properties)
        for bearer, p in facts
    )
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
    counts, own = SetCounts(), dict[str | None, list[Query]]()
    for name_set in sets:
        counts.add_set(name_set)
    for query in queries:
        counts.tasks[query.task] += 1
        own.setdefault(query.name_set, []).append(query)
    for asked in own.values():
        counts.add_facts(asked)
    return counts.figures()


_TASKS = {"qa": "Question Answering", "sf": "Slot Filling", "fc": "Fact checking"}


def amber_statistics(benchmark: Benchmark) -> PaperStatistics | None:
    """Both tables as a document and as text; None where there are no AmbER queries."""
    counted: dict[str, tuple[SetCounts, PropertyCounts]] = {}
    for name_set in benchmark.sets:
        counted.setdefault(name_set.collection, (SetCounts(), PropertyCounts(name_set.collection)))
        counted[name_set.collection][0].add_set(name_set)
    for block in members(benchmark):
        for name_set, every in block:
            queries = [query for query in every if query.task in _TASKS]
            counts, properties = counted[name_set.collection]
            counts.add_facts(queries)
            counts.tasks.update(query.task for query in queries)
            properties.add(name_set, queries)
    if not any(counts.tasks for counts, _ in counted.values()):
        return None
    document: dict[str, Any] = {}
    lines: list[str] = []
    for key, (counts, properties) in sorted(counted.items()):
        title = load_builtin(key).name if key in builtin_names() else key
        figures, shares = counts.figures(), properties.rows()
        document[key] = {"table_3": shares, "table_4": figures}
        rows = [
            ("# AmbER Sets", f"{figures['sets']:,}"),
            ("Averages per AmbER Set", ""),
            ("...# entities", f"{figures['entities_per_set']:.2f}"),
            ("...# entities w/ properties", f"{figures['entities_with_properties_per_set']:.2f}"),
            ("...# properties", f"{figures['properties_per_set']:.2f}"),
            ("# Input Queries", f"{figures['queries']:,}"),
        ]
        rows += [
            (f"... {words} ({task.upper()})", f"{figures[f'queries_{task}']:,}")
            for task, words in _TASKS.items()
            if f"queries_{task}" in figures
        ]
        lines += [f"Table 4, {title}", *(f"  {name:<34}{value:>10}" for name, value in rows)]
        named = ((f"{row['label']} ({row['property']})", row) for row in shares)
        body = [f"  {row['type']:<18}{name:<48}{100 * row['share']:>7.2f}" for name, row in named]
        lines += [f"Table 3, {title}", *body, ""]
    return PaperStatistics(document, "\n".join(lines).rstrip())


def templates_section(runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False) -> Section | None:
    """None where no query is of a known collection of name sets."""
    if not (collections := sorted({s.collection for s in benchmark.sets} & set(builtin_names()))):
        return None
    first: dict[str, Query] = {}
    for query in benchmark.queries if not redact else ():
        if query.name_set:
            first.setdefault(query.task, query)
    shown = [(words, first[task]) for task, words in TASKS.items() if task in first]
    examples = Table(
        key="amber-tasks",
        title="Examples for each task (AmbER, Table 2)",
        columns=("task", "input", "output"),
        rows=[(words, query.input, next(iter(query.answers()), "")) for words, query in shown],
        note="The first query of each task.",
    )
    tables = [] if redact else [examples]
    return Section("How it is asked (AmbER)", [*tables, templates_table(collections, benchmark)])


def templates_table(collections: Sequence[str], benchmark: Benchmark) -> Table:
    """Table 10: the templates by which every property is asked for."""
    asked: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for query in benchmark.queries:
        key = (str(query.attributes.get("collection")), str(query.relation))
        if query.task in ("qa", "fc") and key[0] in collections:
            templates = asked.setdefault(key, {"qa": Counter(), "fc": Counter()})
            templates[query.task][template_of(query, load_builtin(key[0]))] += 1
    rows: list[Sequence[Cell]] = [
        (known.name, known.label(prop), *(" ".join(t for t, _ in used[k].most_common()) for k in used))
        for name in collections
        for known in [load_builtin(name)]
        for prop in known.property_ids
        if (used := asked.get((name, prop)))
    ]
    return Table(
        key="amber-templates",
        title="Templates (AmbER, Table 10)",
        columns=("collection", "property", "question answering", "fact checking"),
        rows=rows,
        note="As this benchmark asks, the most frequent first; $name and $object are replaced.",
    )


_plain = partial(re.compile(r"\b(?:an?|the|was|were)\s+|(?<=\bseason)s\b|[.?! ]+$", re.IGNORECASE).sub, "")


def template_of(query: Query, collection: Collection) -> str:
    """The template that a question or claim was made from, the most specific that fits.

    It fits to the letter, else but for articles, number and final stops, else with another spelling of the name. Where
    none does, as for a property without templates, it is the text with $name for the name.
    """
    known = collection.templates(str(query.relation))
    released = (known.questions if query.task == "qa" else known.claims).get(query.language, ())
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
