"""The part of a report that is about agents: outcomes, when they ask back, and how confusion came in."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import islice

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.answer_measures import step_of
from whichone.measures.measure import parse_measures
from whichone.measures.outcomes import OUTCOME_MEASURES
from whichone.measures.scores import each_answered, estimate, score_answers
from whichone.measures.summary import Asking, asking
from whichone.report.figure import PALETTE, Figure, drawing, finish
from whichone.report.page import Section
from whichone.report.table import Cell, Table
from whichone.runs.run import Answers

SHOWN = 5
"""Traces in a report: the first ones in which a search brought a namesake in before gold."""
_WORDS = {
    "right": "right",
    "several": "right for several",
    "asked": "asked back",
    "refused": "refused",
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
            rows.append([given.name, *(e if e.n else None for e in shares)])
    if not rows:
        return None
    note = (
        "Each answer has one outcome, read from its sentences by rule or from the system's own word. "
        "Outcomes for a namesake apply only where the benchmark knows the namesakes' answers."
    )
    columns = ["system", *(_WORDS[name] for name in OUTCOME_MEASURES)]
    return Section("Six outcomes", [Table("outcomes", "What was said", columns, rows, note)])


def asking_section(answers: Sequence[Answers], benchmark: Benchmark) -> Section | None:
    """When systems asked back and what it gained; none where no query marks that asking is right."""
    if not any("underspecified" in q.attributes for q in benchmark.queries):
        return None
    figures = [asking(a, benchmark) for a in answers]
    rows: list[list[Cell]] = [
        [
            a.system,
            _known(a.asked_when_needed),
            _known(a.asked_when_not),
            _known(a.right),
            _known(a.right_when_needed),
            _known(a.right_after_one_turn),
            _known(a.namesake),
            "–" if a.turns_per_right is None else f"{a.turns_per_right:.2f}",
        ]
        for a in figures
    ]
    columns = [
        "system",
        "asked when needed",
        "asked when not",
        "right",
        "right when needed",
        "right after one turn",
        "for a namesake",
        "turns a right answer",
    ]
    note = (
        "Asking is needed where the question does not say which bearer is meant. Right after one turn: of "
        "the questions that were asked back about."
    )
    table = Table("asking", "When it asks back", columns, rows, note)
    return Section("Which one do you mean?", [table], [asking_figure(figures)])


def _known(cell: Cell) -> Cell:
    return cell if getattr(cell, "n", 0) else None


def asking_figure(figures: Sequence[Asking]) -> Figure:
    """Asked when needed against asked when not, and risk against coverage, in one picture."""
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
    """How confusion came in: traces in which a search brought a namesake before gold."""
    pieces = [piece for given in answers for piece in islice(_traces(given, benchmark), SHOWN)]
    if not pieces:
        return None
    return Section("How confusion came in", html="".join(pieces), on_paper=False)


def _traces(answers: Answers, benchmark: Benchmark) -> Iterator[str]:
    for _, answered in each_answered(answers, benchmark):
        if answered.trace is None:
            continue
        steps = [
            f"{call.tool}: {call.input}"
            + (
                f" → {step_of(call, answered.gold, answered.others)} first"
                if call.tool == "search"
                else ""
            )
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
