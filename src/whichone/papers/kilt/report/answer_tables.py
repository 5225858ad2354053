"""KILT's Tables 3 to 5 of runs and answers over any benchmark, by dataset or task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import benchmark_of
from whichone.errors import BadInput
from whichone.measures.comparison import check_comparable
from whichone.measures.intervals import cluster_note
from whichone.measures.measure import parse_measure, parse_measures
from whichone.measures.scores import Scores, estimate, groups_of, score_answers, score_run
from whichone.papers.kilt.scores.headline import METRIC
from whichone.papers.kilt.statistics import is_kilt
from whichone.records import Query
from whichone.report.name_set_tables import TASKS
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Answers, Run

KILT_MEASURES = {"accuracy": "accuracy", "em": "em", "f1": "f1", "rougel": "rouge_l"}
OTHER_DATASETS = {"qa": "em", "sf": "accuracy", "fc": "accuracy", "el": "accuracy"}


def answers_section(
    answers: Sequence[Answers], benchmark: Benchmark, runs: Sequence[Run]
) -> Section:
    """What a report of answers says by dataset."""
    tables: list[Table] = [downstream_table(answers, benchmark), kilt_table(answers, benchmark)]
    if runs and not is_kilt(benchmark.queries):  # a report of runs over KILT has its own
        tables.insert(1, retrieval_table(runs, benchmark))
    return Section("By dataset, as KILT", tables)


def downstream_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """KILT's Table 3: each dataset's own measure."""
    return _by_dataset(
        [_scores(answer_run, benchmark, gated=False) for answer_run in answers],
        benchmark,
        key="kilt-downstream",
        title="Downstream performance (KILT, Table 3)",
        note="Accuracy, exact match, F1 or ROUGE-L, as the paper chooses for each dataset.",
        gated=False,
    )


def kilt_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """KILT's Table 5: the same, with points only where the provenance is found."""
    return _by_dataset(
        [_scores(answer_run, benchmark, gated=True) for answer_run in answers],
        benchmark,
        key="kilt-scores",
        title="KILT scores (KILT, Table 5)",
        note=(
            "Points only where the pages an answer rests on are the gold pages (R-precision 1); for a "
            "reader that cites nothing, the pages it was shown in their order. Closed-book readers "
            "show no provenance and score 0."
        ),
        gated=True,
    )


def retrieval_table(runs: Sequence[Run], benchmark: Benchmark) -> Table:
    """KILT's Table 4: page-level R-precision."""
    measures = parse_measures(["rprec"])
    systems = [score_run(run, benchmark, measures) for run in runs]
    if len(systems) > 1:
        check_comparable(systems)
    groups = _datasets(benchmark)
    rows: list[Sequence[Cell]] = [
        (s.system, *(estimate(s, measures[0], m) for m in groups.values())) for s in systems
    ]
    return Table(
        key="kilt-retrieval",
        title="Page-level R-precision (KILT, Table 4)",
        columns=("system", *groups),
        rows=rows,
        note="Of the best evidence set with R pages, the share among the first R pages.",
    )


def _scores(answers: Answers, benchmark: Benchmark, *, gated: bool) -> Scores:
    names = {_measure(q, gated) for q in benchmark.queries}
    scores = score_answers(answers, benchmark, parse_measures(sorted(names)))
    return replace(scores, system=scores.marked)


def _measure(query: Query, gated: bool) -> str:
    """The measure that the KILT paper names for a query's dataset, else its task's usual one."""
    named = METRIC.get(str(query.attributes.get("dataset", "")).lower())
    name = KILT_MEASURES[named] if named else OTHER_DATASETS.get(query.task, "f1")
    return f"kilt_{name}" if gated else name


def _datasets(benchmark: Benchmark) -> dict[str, npt.NDArray[np.int64]]:
    """Queries by dataset, else by task."""

    def name(query: Query) -> str:
        named = str(query.attributes.get("dataset") or TASKS.get(query.task, query.task))
        return ": ".join(filter(None, (benchmark_of(query), named)))

    return {str(key): rows for (key,), rows in groups_of(benchmark.queries, [name])}


def _by_dataset(
    systems: Sequence[Scores], benchmark: Benchmark, *, key: str, title: str, note: str, gated: bool
) -> Table:
    if not systems:
        raise BadInput("a table needs at least one folder of answers")
    groups = _datasets(benchmark)
    heads = {
        name: _measure(benchmark.queries[int(members[0])], gated)
        for name, members in groups.items()
    }
    rows: list[Sequence[Cell]] = [
        (
            s.system,
            *(estimate(s, parse_measure(heads[name]), members) for name, members in groups.items()),
        )
        for s in systems
    ]
    return Table(
        key=key,
        title=title,
        columns=("system", *(f"{name} ({measure})" for name, measure in heads.items())),
        rows=rows,
        note=f"{note} {cluster_note(benchmark.queries)}.",
    )
