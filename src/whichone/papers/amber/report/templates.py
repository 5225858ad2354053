"""AmbER's Tables 2 and 10: an example of each task, and the templates that ask for each property."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.amber.collection import builtin_names, load_collection
from whichone.report.name_set_tables import TASKS
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Run


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
