"""Which tasks a reader can do and is asked; every other question is left out, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError, did_you_mean, sample
from whichone.protocols import Reader
from whichone.records import Query

OTHERS = frozenset({"fc", "sf", "el", "dialogue", "ambigdocs", "act"})
"""Tasks that are no plain questions; every other name (EntityQuestions, PopQA and so on) is of question answering."""


def kind_of(task: str) -> str:
    """What a reader is asked to do: one of the tasks above, or to answer a question (qa)."""
    return task if task in OTHERS else "qa"


def tasks_of(reader: Reader) -> tuple[str, ...]:
    """The tasks that a reader says it can do (its attribute `tasks`); none: any task."""
    known = getattr(reader, "tasks", None) or ()
    return (known,) if isinstance(known, str) else tuple(map(str, known))


def checked_tasks(wanted: Sequence[str], reader: Reader, benchmark: Benchmark) -> tuple[str, ...]:
    """The tasks asked for; refused where the benchmark has none of them, or the reader cannot do them."""
    there = list(dict.fromkeys(q.task for q in benchmark.queries))
    for task in wanted:
        if task not in there:
            raise UsageError(
                f"{benchmark.id} has no question of the task {task!r}, only of {sample(there)}",
                hint=did_you_mean(task, there),
            )
    able = tasks_of(reader)
    beyond = [task for task in wanted if able and not {task, kind_of(task)} & set(able)]
    if beyond:
        name = getattr(reader, "name", type(reader).__name__)
        raise UsageError(
            f"the reader {name} cannot do the task {beyond[0]}, only {', '.join(able)}"
        )
    return tuple(dict.fromkeys(wanted))


def not_for_reader(
    queries: Sequence[Query], reader: Reader, wanted: Sequence[str]
) -> dict[str, str]:
    """By question: why it is not asked."""
    able = tasks_of(reader)
    reasons: dict[str, str] = {}
    for query in queries:
        if able and not {query.task, kind_of(query.task)} & set(able):
            reasons[query.id] = f"the reader can do {', '.join(able)} only"
        elif wanted and query.task not in wanted:
            reasons[query.id] = f"only the task {', '.join(wanted)} is asked"
    return reasons
