"""Tables of what readers say: AmbER's Table 7, and what confusion costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.measures.comparison import Comparison, compare, holm
from whichone.measures.intervals import Estimate, cluster_note
from whichone.measures.measure import parse_measures
from whichone.measures.scores import distinctly_named, score_answers, subset
from whichone.measures.summary import summarise_answers, summary_measures
from whichone.records import Query
from whichone.report.name_set_tables import TASKS
from whichone.report.table import Table
from whichone.runs.run import Answers

MEASURE_NAMES = {"amber_f1": "F1", "accuracy": "accuracy", "complete": "complete"}


def end_to_end_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """Table 7: readers with the gold page, with retrieved pages, and with another bearer's page."""
    tasks = sorted({q.task for q in benchmark.queries})
    measures = parse_measures(summary_measures(tasks))
    scored = distinctly_named(
        [score_answers(answer_run, benchmark, measures) for answer_run in answers],
        [a.path for a in answers],
    )
    rows = [row for s in scored for row in summarise_answers(replace(s, system=s.marked))]
    papers_order = list(TASKS)
    ordered = sorted(
        rows,
        key=lambda r: (
            r.benchmark,
            r.collection,
            papers_order.index(r.task) if r.task in TASKS else len(TASKS),
            r.task,
        ),
    )
    return Table(
        key="end-to-end",
        title="End-to-end performance (AmbER, Table 7)",
        columns=(
            *ordered[0].place,
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
                *({**r.place, "task": TASKS.get(r.task, r.task)}).values(),
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
            f"bearer's value. {cluster_note(benchmark.queries)}. A system "
            "called a shortcut looks facts up and is a ceiling, not a reader."
        ),
    )


def _if_any(estimate: Estimate) -> Estimate | None:
    return estimate if estimate.n else None


def confusion_cost_table(gold: Answers, other: Answers, benchmark: Benchmark) -> Table:
    """What confusion costs: gold minus other-bearer, over the queries that have both."""
    for answer_run, wanted in ((gold, "gold"), (other, "other-bearer")):
        shown = answer_run.description["setting"]["passages"]
        if shown != wanted:
            raise UsageError(f"{answer_run.path} was shown {shown} passages, {wanted} is wanted")
    comparisons: list[tuple[str, str, Comparison]] = []
    for task in sorted({q.task for q in benchmark.queries}):
        measures = parse_measures([m for m in summary_measures([task]) if m != "failure"])
        pair = [score_answers(a, benchmark, measures) for a in (other, gold)]
        for role in ("all", "head", "tail"):
            compared = compare([subset(s, _asked(task, role)) for s in pair], measures)
            comparisons += [(task, role, c) for c in compared if c.difference.n]
    corrected = holm([c.p for _, _, c in comparisons])
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
            for (task, role, c), p in zip(comparisons, corrected, strict=True)
        ],
        note=(
            "The same reader is shown the gold page, or the page of another bearer of the name instead. "
            "Paired over queries that have both; permutation test by cluster, Holm-corrected over the "
            "table. A reader that notices refuses; one that does not answers for the namesake."
        ),
    )


def _asked(task: str, role: str) -> Callable[[Query], bool]:
    return lambda query: query.task == task and role in ("all", query.role)
