"""Tables of what readers say: AmbER's Table 7, KILT's Tables 3 to 5, and what confusion costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.measures.answer_scores import score_answers
from whichone.measures.answer_summary import summarise_answers, summary_measures
from whichone.measures.comparison import Comparison, check_comparable, compare, holm
from whichone.measures.intervals import Estimate
from whichone.measures.measure import parse_measure, parse_measures
from whichone.measures.scores import Scores, cluster_rule, estimate, score_run, subset
from whichone.papers.amber.report.tables import TASKS
from whichone.papers.kilt.scores.headline import METRIC
from whichone.records import Query
from whichone.report.table import Cell, Table
from whichone.runs.answers import Answers
from whichone.runs.run import Run

MEASURE_NAMES = {"amber_f1": "F1", "accuracy": "accuracy", "complete": "complete"}
KILT_MEASURES = {"accuracy": "accuracy", "em": "em", "f1": "f1", "rougel": "rouge_l"}
OTHER_DATASETS = {"qa": "em", "sf": "accuracy", "fc": "accuracy", "el": "accuracy"}


def end_to_end_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """Table 7: readers with the gold page, with retrieved pages, and with another bearer's page."""
    tasks = sorted({q.task for q in benchmark.queries})
    measures = parse_measures(summary_measures(tasks))
    rows = [
        row for one in answers for row in summarise_answers(score_answers(one, benchmark, measures))
    ]
    ordered = sorted(rows, key=lambda r: (r.collection, r.task))
    return Table(
        key="end-to-end",
        title="End-to-end performance (AmbER, Table 7)",
        columns=(
            "collection",
            "task",
            "system",
            "measure",
            "all",
            "head",
            "tail",
            "for a namesake",
            "for a namesake, head",
            "for a namesake, tail",
            "refused",
        ),
        rows=[
            (
                r.collection,
                TASKS.get(r.task, r.task),
                r.system,
                MEASURE_NAMES.get(r.measure, r.measure),
                *(r.values[c] for c in ("all", "head", "tail")),
                *(_if_any(r.values[f"namesake{c}"]) for c in ("", "_head", "_tail")),
                r.values["refusal"],
            )
            for r in ordered
        ],
        note=(
            "F1 after AmbER's normaliser for question answering and slot filling, accuracy for fact "
            "checking; failures are wrong. For a namesake: percent of questions answered with another "
            f"bearer's value. 95 % intervals, resampled by {cluster_rule(benchmark.queries)}. A system "
            "called a shortcut looks facts up and is a ceiling, not a reader."
        ),
    )


def _if_any(found: Estimate) -> Estimate | None:
    return found if found.n else None


def confusion_cost_table(gold: Answers, other: Answers, benchmark: Benchmark) -> Table:
    """What confusion costs: gold minus other-bearer, over the queries that have both."""
    for one, wanted in ((gold, "gold"), (other, "other-bearer")):
        shown = one.description["setting"]["passages"]
        if shown != wanted:
            raise UsageError(f"{one.path} was shown {shown} passages, {wanted} is wanted")
    found: list[tuple[str, str, Comparison]] = []
    for task in sorted({q.task for q in benchmark.queries}):
        measures = parse_measures([m for m in summary_measures([task]) if m != "failure"])
        pair = [score_answers(a, benchmark, measures) for a in (other, gold)]
        for role in ("all", "head", "tail"):
            compared = compare([subset(s, _asked(task, role)) for s in pair], measures)
            found += [(task, role, c) for c in compared if c.difference.n]
    corrected = holm([c.p for _, _, c in found])
    return Table(
        key=f"cost-of-confusion-{gold.folder.manifest.parents['reader'][:6]}",
        title=f"What confusion costs: {gold.name.removesuffix(' (gold)')}",
        columns=("task", "queries", "measure", "other bearer", "gold", "gold − other", "p", "n"),
        rows=[
            (
                TASKS.get(task, task),
                role,
                MEASURE_NAMES.get(c.measure, c.measure),
                100 * c.value_a,
                100 * c.value_b,
                c.difference,
                f"{p:.4f}{'*' if p < 0.05 else ''}",
                c.difference.n,
            )
            for (task, role, c), p in zip(found, corrected, strict=True)
        ],
        note=(
            "The same reader is shown the gold page, or the page of another bearer of the name instead. "
            "Paired over queries that have both; permutation test by cluster, Holm-corrected over the "
            "table. A reader that notices refuses; one that does not answers for the namesake."
        ),
    )


def _asked(task: str, role: str) -> Callable[[Query], bool]:
    return lambda query: query.task == task and role in ("all", query.role)


def downstream_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """KILT's Table 3: each dataset's own measure."""
    return _by_dataset(
        [_scores(one, benchmark, gated=False) for one in answers],
        benchmark,
        key="kilt-downstream",
        title="Downstream performance (KILT, Table 3)",
        note="Accuracy, exact match, F1 or ROUGE-L, as the paper chooses for each dataset.",
        gated=False,
    )


def kilt_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """KILT's Table 5: the same, with points only where the provenance is found."""
    return _by_dataset(
        [_scores(one, benchmark, gated=True) for one in answers],
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
        (s.system, *(estimate(s, measures[0], np.array(m)) for m in groups.values()))
        for s in systems
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
    return score_answers(answers, benchmark, parse_measures(sorted(names)))


def _measure(query: Query, gated: bool) -> str:
    """The measure that the KILT paper names for a query's dataset, else its task's usual one."""
    named = METRIC.get(str(query.attributes.get("dataset", "")).lower())
    name = KILT_MEASURES[named] if named else OTHER_DATASETS.get(query.task, "f1")
    return f"kilt_{name}" if gated else name


def _datasets(benchmark: Benchmark) -> dict[str, list[int]]:
    """Queries by dataset, else by task."""
    groups: dict[str, list[int]] = {}
    for i, query in enumerate(benchmark.queries):
        name = str(query.attributes.get("dataset") or TASKS.get(query.task, query.task))
        groups.setdefault(name, []).append(i)
    return dict(sorted(groups.items()))


def _by_dataset(
    systems: Sequence[Scores], benchmark: Benchmark, *, key: str, title: str, note: str, gated: bool
) -> Table:
    if not systems:
        raise BadInput("a table needs at least one folder of answers")
    groups = _datasets(benchmark)
    heads = {
        name: _measure(benchmark.queries[members[0]], gated) for name, members in groups.items()
    }
    rows: list[Sequence[Cell]] = [
        (
            s.system,
            *(
                estimate(s, parse_measure(heads[name]), np.array(members))
                for name, members in groups.items()
            ),
        )
        for s in systems
    ]
    return Table(
        key=key,
        title=title,
        columns=("system", *(f"{name} ({measure})" for name, measure in heads.items())),
        rows=rows,
        note=f"{note} 95 % intervals, resampled by {cluster_rule(benchmark.queries)}.",
    )
