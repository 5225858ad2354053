"""The part of a report that is about agents: outcomes, when they ask back, and how confusion came in."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.measures.answer_measures import step_of
from whichone.measures.comparison import Comparison, compare, holm
from whichone.measures.intervals import Estimate, cluster_note
from whichone.measures.measure import parse_measures
from whichone.measures.outcomes import OUTCOME_MEASURES
from whichone.measures.scores import distinctly_named, each_answered, estimate, score_answers, subset
from whichone.measures.summary import AskingSummary, asking, summarise_answers, summary_measures
from whichone.records import Query
from whichone.report.name_set_tables import TASKS
from whichone.report.page import PALETTE, Cell, Figure, ReportPage, Section, Table, drawing, finish
from whichone.runs.run import ANSWERS_KIND, Answers, Run

SHOWN = 5  # Traces in a report: the first ones in which a search brought a namesake in before gold
_WORDS = {
    "several": "right for several",
    "asked": "asked back",
    "namesake": "for a namesake",
    "wrong": "wrong otherwise",
}


def outcome_section(answers: Sequence[Answers], benchmark: Benchmark) -> Section | None:
    """What became of every question, in six outcomes; none where no query has an answer."""
    import numpy as np

    measures = parse_measures(list(OUTCOME_MEASURES.values()))
    rows: list[list[Cell]] = []
    for given in answers:
        scores = score_answers(given, benchmark, measures)
        where = np.arange(len(scores.queries))
        shares = [estimate(scores, measure, where) for measure in measures]
        if shares[0].n:
            rows.append([given.name, *map(_known, shares)])
    if not rows:
        return None
    note = (
        "Each answer has one outcome, read from its sentences by rule or from the system's own word. "
        "Outcomes for a namesake apply only where the benchmark knows the namesakes' answers."
    )
    columns = ["system", *(_WORDS.get(name, name) for name in OUTCOME_MEASURES)]
    return Section("Six outcomes", [Table("outcomes", "What was said", columns, rows, note)])


def asking_section(answers: Sequence[Answers], benchmark: Benchmark) -> Section | None:
    """When systems asked back and what it gained; none where no query marks that asking is right."""
    if not any("underspecified" in q.attributes for q in benchmark.queries):
        return None
    figures = [asking(a, benchmark) for a in answers]
    shown = {
        "asked_when_needed": "asked when needed",
        "asked_when_not": "asked when not",
        "right": "right",
        "right_when_needed": "right when needed",
        "right_after_one_turn": "right after one turn",
        "namesake": "for a namesake",
    }
    rows: list[list[Cell]] = [
        [
            a.system,
            *(_known(getattr(a, name)) for name in shown),
            "–" if a.turns_per_right is None else f"{a.turns_per_right:.2f}",
        ]
        for a in figures
    ]
    columns = ["system", *shown.values(), "turns a right answer"]
    note = (
        "Asking is needed where the question does not say which bearer is meant. Right after one turn: of "
        "the questions that were asked back about."
    )
    table = Table("asking", "When it asks back", columns, rows, note)
    return Section("Which one do you mean?", [table], [asking_figure(figures)])


def _known(estimate: Estimate) -> Estimate | None:
    return estimate if estimate.n else None


def asking_figure(figures: Sequence[AskingSummary]) -> Figure:
    with drawing(1, 2, (7.2, 3.2)) as (figure, axes):
        left, right = axes[0]
        for n, a in enumerate(figures):
            colour = PALETTE[n % len(PALETTE)]
            x, y = a.asked_when_not.value or 0.0, a.asked_when_needed.value or 0.0
            left.plot([100 * x], [100 * y], "o", color=colour, label=a.system, clip_on=False)
            points = [(100 * c, 100 * r) for c, r in a.risk_coverage]
            right.plot(*zip(*points, strict=True), "o-", color=colour, markersize=3)
        left.set(xlim=(0, 100), ylim=(0, 100), xlabel="asked when not needed, %")
        left.set_ylabel("asked when needed, %")
        left.plot([0, 100], [0, 100], ":", color="#8c8c8c", linewidth=0.8)
        left.legend(frameon=False, fontsize=7)
        right.set(xlim=(0, 100), ylim=(0, 100), xlabel="coverage: answered, %")
        right.set_ylabel("risk: wrong among them, %")
        note = (
            "Left: the upper left corner asks exactly where it is needed. Right: the most certain answers "
            "first (by their score; without scores, those given without asking)."
        )
        return finish(figure, "asking", "Asking back, and risk against coverage", note)


def trace_section(answers: Sequence[Answers], benchmark: Benchmark) -> Section | None:
    pieces = [piece for given in answers for piece in islice(_traces(given, benchmark), SHOWN)]
    return Section("How confusion came in", html="".join(pieces), on_paper=False) if pieces else None


def _traces(answers: Answers, benchmark: Benchmark) -> Iterator[str]:
    for _, answered in each_answered(answers, benchmark):
        if answered.trace is None:
            continue
        steps = [
            f"{call.tool}: {call.input}"
            + (f" → {step_of(call, answered.gold, answered.others)} first" if call.tool == "search" else "")
            + (f" → {call.text}" if call.text else "")
            for call in answered.trace.calls
        ]
        if not any(step.endswith("namesake first") for step in steps):
            continue
        query = answered.query
        listed = "".join(f"<li>{html.escape(step[:300])}" for step in steps)
        said = answered.text or (f"(asks) {answered.asks}" if answered.asks else "(refused)")
        wrong = ", ".join(answered.other_values[:3])
        yield (
            f"<details><summary>{html.escape(answers.name)}: {html.escape(query.input)}</summary>"
            f"<ol>{listed}</ol><p>said: {html.escape(said[:300])}; accepted: "
            f"{html.escape(', '.join(query.answers()[:3]))}; of namesakes: {html.escape(wrong)}</p>"
            "</details>"
        )


# Tables of what readers say: AmbER's Table 7, and what confusion costs.
MEASURE_NAMES = {"amber_f1": "F1", "accuracy": "accuracy", "complete": "complete"}


def end_to_end_table(answers: Sequence[Answers], benchmark: Benchmark) -> Table:
    """Table 7: readers with the gold page, with retrieved pages, and with another bearer's page."""
    measures = parse_measures(summary_measures(sorted({q.task for q in benchmark.queries})))
    scored = distinctly_named(
        [score_answers(answer_run, benchmark, measures) for answer_run in answers], [a.path for a in answers]
    )
    rows = [row for s in scored for row in summarise_answers(replace(s, system=s.marked))]
    order = {task: n for n, task in enumerate(TASKS)}  # the paper's
    ordered = sorted(rows, key=lambda r: (r.benchmark, r.collection, order.get(r.task, len(order)), r.task))
    return Table(
        key="end-to-end",
        title="End-to-end performance (AmbER, Table 7)",
        columns=(
            *(*ordered[0].place, "system", "measure", "all", "head", "tail"),
            *("for a namesake", "for a namesake, head", "for a namesake, tail", "refused"),
        ),
        rows=[
            (
                *({**r.place, "task": TASKS.get(r.task, r.task)}).values(),
                r.system,
                MEASURE_NAMES.get(r.measure, r.measure),
                *(r.values[c] for c in ("all", "head", "tail")),
                *(_known(r.values[f"namesake{c}"]) for c in ("", "_head", "_tail")),
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


def confusion_cost_table(gold: Answers, other: Answers, benchmark: Benchmark) -> Table:
    """What confusion costs: gold minus other-bearer, over the queries that have both."""
    for answer_run, wanted in ((gold, "gold"), (other, "other-bearer")):
        if (shown := answer_run.description["setting"]["passages"]) != wanted:
            raise UsageError(f"{answer_run.path} was shown {shown} passages, {wanted} is wanted")
    comparisons: list[tuple[str, str, Comparison]] = []
    for task in sorted({q.task for q in benchmark.queries}):
        measures = parse_measures([m for m in summary_measures([task]) if m != "failure"])
        pair = [score_answers(a, benchmark, measures) for a in (other, gold)]
        for role in ("all", "head", "tail"):
            compared = compare([subset(s, _asked(task, role)) for s in pair], measures)
            comparisons += [(task, role, c) for c in compared if c.difference.value is not None]
    return Table(
        key=f"cost-of-confusion-{gold.folder.manifest.parents['reader'][:6]}",
        title=f"What confusion costs: {gold.name.removesuffix(' (gold)')}",
        columns=("task", "queries", "measure", "other bearer", "gold", "gold − other", "p", "n"),
        rows=[
            (
                TASKS.get(task, task),
                role,
                MEASURE_NAMES.get(c.measure, c.measure),
                100 * (c.value_a or 0.0),
                100 * (c.value_b or 0.0),
                c.difference,
                f"{p:.4f}{'*' if p < 0.05 else ''}",
                c.difference.n,
            )
            for (task, role, c), p in zip(comparisons, holm([c.p for _, _, c in comparisons]), strict=True)
        ],
        note=(
            "The same reader is shown the gold page, or the page of another bearer of the name instead. "
            "Paired over queries that have both; permutation test by cluster, Holm-corrected over the "
            "table. A reader that notices refuses; one that does not answers for the namesake."
        ),
    )


def _asked(task: str, role: str) -> Callable[[Query], bool]:
    return lambda query: query.task == task and role in ("all", query.role)


# The part of a report that is about answers: end to end, KILT's tables, and what confusion costs.


def answers_among(places: Sequence[str | Path]) -> tuple[list[Answers], list[str | Path]]:
    opened = [(place, Folder.open(place, ("run", ANSWERS_KIND))) for place in places]
    runs = [place for place, folder in opened if folder.manifest.kind == "run"]
    return [Answers(folder) for _, folder in opened if folder.manifest.kind == ANSWERS_KIND], runs


def answers_report(
    answers: Sequence[Answers],
    out: str | Path,
    *,
    benchmark: Where | None = None,
    redact: bool = False,
    study: str | Path | None = None,
) -> list[Path]:
    """A page about answers alone; a paper may have a page of its own kind for them."""
    from whichone.report.three_choice import three_choice_section

    base = answers[0].benchmark(benchmark)
    for offered in registry.every("answer_pages").values():
        own: ReportPage | None = offered(answers, base, benchmark, redact=redact)
        if own is not None:
            return own.write(Path(out))
    people = three_choice_section({}, answers, base, study) if study else None
    return ReportPage(
        title=f"whichone: {base.name}",
        subtitle=f"{', '.join(a.name for a in answers)} on {base.id}",
        sections=[*answer_sections(answers, base, redact=redact), *([people] if people else [])],
        meta={
            "benchmark": base.id,
            "intervals": cluster_note(base.queries),
            **{f"answers {a.name}": str(a.description) for a in answers},
        },
    ).write(Path(out))


def answer_sections(
    answers: Sequence[Answers], benchmark: Benchmark, runs: Sequence[Run] = (), *, redact: bool = False
) -> list[Section]:
    if not answers:
        return []
    if strangers := [a for a in answers if a.benchmark_id != benchmark.id]:
        raise BadInput(
            f"the answers are over {strangers[0].benchmark_id}, the rest is over {benchmark.id}",
            file=strangers[0].path,
            hint="their questions or corpora differ; make one report for each",
        )
    costs = [confusion_cost_table(gold, other, benchmark) for gold, other in gold_and_other(answers)]
    offered = registry.every("answer_tables").values()
    return [
        Section("What the user is told", [end_to_end_table(answers, benchmark)]),
        *([Section("What confusion costs", costs)] if costs else []),
        *(s for section in _OURS if (s := section(answers, benchmark)) is not None),
        *([traces] if not redact and (traces := trace_section(answers, benchmark)) else []),
        *(s for section in offered if (s := section(answers, benchmark, runs)) is not None),
    ]


_OURS = (outcome_section, asking_section)


def gold_and_other(answers: Sequence[Answers]) -> list[tuple[Answers, Answers]]:
    """Readers that were shown gold, each with itself shown another bearer's page."""
    gold, other = (
        {
            a.folder.manifest.parents["reader"]: a
            for a in answers
            if a.description["setting"]["passages"] == kind
        }
        for kind in ("gold", "other-bearer")
    )
    return [(gold[reader], other[reader]) for reader in gold if reader in other]
