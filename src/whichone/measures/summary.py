"""The table of AmbER's Table 5: all, head, tail, all correct and confusion, by collection and task."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import BENCHMARK, benchmark_of
from whichone.benchmarks.stored import once
from whichone.files.arrow_records import numbers
from whichone.measures.clusters import cluster_note
from whichone.measures.intervals import Estimate
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, estimate, groups_of, score_run
from whichone.records import Query
from whichone.runs.run import Run

COLUMNS = ("all", "head", "tail", "all_correct", "confused", "confused_head", "confused_tail")
TASK_ORDER = {"fc": 0, "sf": 1, "qa": 2}
HEAD, TAIL = 1, 2
DEPTH = 20
"""How far down a ranking confusion is looked for."""


class SummaryRow(msgspec.Struct, frozen=True):
    """One system on one collection and task."""

    system: str
    collection: str
    task: str
    values: dict[str, Estimate]
    benchmark: str = ""
    """Its name, among several."""

    @property
    def place(self) -> dict[str, str]:
        """The columns that say what a row is about, in order."""
        several = {BENCHMARK: self.benchmark} if self.benchmark else {}
        return {**several, "collection": self.collection, "task": self.task}


def summarise(scores: Scores, k: int = 1) -> list[SummaryRow]:
    """Rows by collection and task, from scores that contain acc@k, all_correct@k and a confusion."""
    by_name = {str(m): m for m in scores.measures}
    accuracy, correct = by_name[f"acc@{k}"], by_name[f"all_correct@{k}"]
    confusion = next(m for name, m in by_name.items() if name.startswith("confused"))
    rows = []
    roles = roles_of(scores.queries)
    for (benchmark, collection, task), members in sorted(rows_by_place(scores.queries).items()):
        head, tail = members[roles[members] == HEAD], members[roles[members] == TAIL]
        values = {
            "all": estimate(scores, accuracy, members),
            "head": estimate(scores, accuracy, head),
            "tail": estimate(scores, accuracy, tail),
            "all_correct": estimate(scores, correct, members),
            "confused": estimate(scores, confusion, members),
            "confused_head": estimate(scores, confusion, head),
            "confused_tail": estimate(scores, confusion, tail),
        }
        rows.append(SummaryRow(scores.system, collection, task, values, benchmark))
    return rows


def collection_of(query: Query) -> str:
    """The collection a query belongs to, else its dataset, else nothing."""
    return str(query.attributes.get("collection") or query.attributes.get("dataset") or "")


def group_of(query: Query) -> str:
    """The collection, preceded by the benchmark where a query names one among several."""
    return ": ".join(filter(None, (benchmark_of(query), collection_of(query))))


def rows_by_place(
    queries: Sequence[Query],
) -> dict[tuple[str, str, str], npt.NDArray[np.int64]]:
    """The rows of each benchmark, collection and task, in this order."""
    readers = (benchmark_of, collection_of, operator.attrgetter("task"))
    groups = once(queries, "places", lambda: groups_of(queries, readers))
    return {(str(a), str(b), str(c)): rows for (a, b, c), rows in groups}


def roles_of(queries: Sequence[Query]) -> npt.NDArray[np.int8]:
    """Whether each query is about a head (`HEAD`) or a tail (`TAIL`); else 0."""
    return once(queries, "roles", lambda: _roles(queries))


def _roles(queries: Sequence[Query]) -> npt.NDArray[np.int8]:
    roles: npt.NDArray[np.int8] = numbers(len(queries), np.int8)
    for n, query in enumerate(queries):
        if query.role is not None:
            roles[n] = HEAD if query.role == "head" else TAIL
    return roles


def summarise_runs(runs: Sequence[Run], benchmark: Benchmark, k: int = 1) -> list[SummaryRow]:
    measures = parse_measures([f"acc@{k}", f"all_correct@{k}", f"confused@{DEPTH}"])
    return [row for run in runs for row in summarise(score_run(run, benchmark, measures), k)]


def as_document(rows: Sequence[SummaryRow], benchmark: Benchmark) -> dict[str, Any]:
    """One JSON document: per system, benchmark where there are several, collection and task the figures."""
    systems: dict[str, Any] = {}
    for row in rows:
        figures = {name: row.values[name].brief() for name in COLUMNS}
        place = systems.setdefault(row.system, {})
        if row.benchmark:
            place = place.setdefault(row.benchmark, {})
        place.setdefault(row.collection, {})[row.task] = figures
    return {
        "benchmark": benchmark.id,
        "retrievers": systems,
        "intervals": cluster_note(benchmark.queries),
    }


def as_table(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """Rows for a terminal, in percent as the paper prints them."""
    return [
        {
            **row.place,
            "retriever": row.system,
            **{name: percent(row.values[name]) for name in COLUMNS},
        }
        for row in sorted(rows, key=lambda r: (r.benchmark, r.collection, r.task))
    ]


def table_5(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """The shape of AmbER's Table 5: a row for each collection and system, four figures a task."""
    return _wide(rows, {"all": "all", "head": "head", "tail": "tail", "all_correct": "∀"})


def table_6(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """The shape of AmbER's Table 6: confusion of head and tail queries."""
    return _wide(rows, {"confused": "all", "confused_head": "head", "confused_tail": "tail"})


def _wide(rows: Sequence[SummaryRow], figures: dict[str, str]) -> list[dict[str, Any]]:
    wide: dict[tuple[str, str, str], dict[str, Any]] = {}
    order = {system: n for n, system in enumerate(dict.fromkeys(row.system for row in rows))}
    for row in sorted(
        rows,
        key=lambda r: (r.benchmark, r.collection, order[r.system], TASK_ORDER.get(r.task, 9)),
    ):
        place = {key: value for key, value in row.place.items() if key != "task"}
        line = wide.setdefault(
            (row.benchmark, row.collection, row.system), {**place, "retriever": row.system}
        )
        for figure, shown in figures.items():
            values = row.values[figure].value
            line[f"{row.task.upper()} {shown}"] = "-" if values is None else f"{100 * values:.1f}"
    return list(wide.values())


def percent(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    shown = f"{100 * estimate.value:.1f}"
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"
