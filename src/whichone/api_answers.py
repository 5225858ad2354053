"""The answering half of `whichone.evaluate`: a reader of what was found, or a whole RAG in one function."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.actions import ACT
from whichone.measures.answer_scores import score_answers
from whichone.measures.answer_summary import (
    COLUMNS,
    TRACE_MEASURES,
    AnswerRow,
    outcome_rows,
    summarise_answers,
    summary_measures,
    trace_rows,
)
from whichone.measures.clusters import cluster_note
from whichone.measures.measure import Measure, parse_measures
from whichone.measures.outcome_judge import Judging
from whichone.measures.scores import Scores
from whichone.measures.summary import percent
from whichone.plain_tables import html_table, text_table
from whichone.records import Question, Ranking
from whichone.runs.agents import RecordTable, SimulatedUser, run_agent, trace_of
from whichone.runs.answers import Answers
from whichone.runs.read import as_reader, run_reader
from whichone.runs.run import Run
from whichone.runs.settings import Setting

_OUTCOME_WORDS = {
    "right": "right",
    "several": "right for several",
    "asked": "asked back",
    "refused": "refused",
    "namesake": "for a namesake",
    "wrong": "wrong otherwise",
}


ACTION_MEASURES = ("right_action", "wrong_action", "deferred")


class AnswerResult:
    """How right the answers were, and how often they were a namesake's."""

    def __init__(
        self, benchmark: Benchmark, scores: Scores, rows: list[AnswerRow], counts: dict[str, Any]
    ) -> None:
        self.benchmark = benchmark
        self.scores = scores
        self.rows = rows
        self.counts = counts

    @classmethod
    def of(
        cls,
        answers: Answers,
        benchmark: Benchmark,
        extra: Sequence[Measure],
        judge: Judging | None = None,
    ) -> AnswerResult:
        tasks = sorted({q.task for q in benchmark.queries})
        usual = summary_measures(tasks)
        traced = any(trace_of(a) is not None for a in answers.answers.values())
        usual += [*TRACE_MEASURES] if traced else []
        usual += [*ACTION_MEASURES] if ACT in tasks else []
        measures = together(parse_measures(usual), extra, "answers")
        scores = score_answers(answers, benchmark, measures, judge)
        rows = summarise_answers(scores)
        return cls(benchmark, scores, rows, answers.folder.manifest.counts)

    def to_dict(self) -> dict[str, Any]:
        systems: dict[str, Any] = {}
        for row in self.rows:
            figures = {name: row.values[name].brief() for name in COLUMNS}
            place = systems.setdefault(row.benchmark, {}) if row.benchmark else systems
            tasks = place.setdefault(row.collection, {})
            tasks[row.task] = {"measure": row.measure, **figures}
        for row in outcome_rows(self.scores):
            shares = {name: value.brief() for name, value in row.values.items()}
            place = systems[row.benchmark] if row.benchmark else systems
            place[row.collection][row.task]["outcomes"] = shares
        return {"system": self.scores.system, "collections": systems, "counts": self.counts}

    def outcomes(self) -> list[dict[str, Any]]:
        """Rows for printing: the share of each of the six outcomes, in percent."""
        return [
            {
                **row.place,
                "system": row.system,
                **{_OUTCOME_WORDS[name]: percent(value) for name, value in row.values.items()},
            }
            for row in outcome_rows(self.scores)
        ]

    def table(self) -> list[dict[str, Any]]:
        """Rows for printing, in percent."""
        return [
            {
                **row.place,
                "system": row.system,
                "measure": row.measure,
                **{name: percent(row.values[name]) for name in COLUMNS},
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        text = f"{text_table(self.table())}\n{self._footnote()}"
        tables = [self.outcomes(), self.traces()]
        return "\n\n".join([text, *(text_table(rows) for rows in tables if rows)])

    __repr__ = __str__

    def _footnote(self) -> str:
        rule = cluster_note(self.benchmark.queries)
        failed = self.counts.get("failures", 0)
        return f"percent, {rule}; namesake: another bearer's value was given" + (
            f"; {failed:,} failures count as wrong" if failed else ""
        )

    def _repr_html_(self) -> str:
        page = f"{html_table(self.table())}<p>{html.escape(self._footnote())}</p>"
        return page + "".join(html_table(rows) for rows in (self.outcomes(), self.traces()) if rows)

    def traces(self) -> list[dict[str, Any]]:
        """Rows for printing: what an agent did, on the average of each collection and task."""
        return [
            {
                **row.place,
                "calls": f"{row.values['calls'].value or 0:.1f}",
                **{n: percent(row.values[n]) for n in TRACE_MEASURES if n != "calls"},
                **{n: percent(row.values[n]) for n in ACTION_MEASURES if n in row.values},
            }
            for row in trace_rows(self.scores)
        ]


def answer_found(
    answer: Any, benchmark: Benchmark, run: Run, place: Path, *, depth: int, on_error: str
) -> Answers:
    """Let a function read what a run found."""
    setting = Setting(passages="retrieved", depth=depth)
    reader = as_reader(answer)
    return run_reader(reader, benchmark, place, setting, run=run, on_error=on_error, cites="corpus")


def answer_alone(
    answer: Any, benchmark: Benchmark, place: Path, *, name: str | None, on_error: str
) -> Answers:
    """Let a function that finds its passages itself answer; the ids it gives are its ranking."""
    reader = as_reader(answer, name=name)
    called = str(name or getattr(reader, "name", type(reader).__name__))
    setting = Setting(passages="none")
    return run_reader(
        reader, benchmark, place, setting, name=called, on_error=on_error, cites="corpus"
    )


def answer_by_agent(
    agent: Any, benchmark: Benchmark, place: Path, *, user: Any, **options: Any
) -> Answers:
    """Let an agent work on every question; "simulated" is the user who knows whom it means."""
    asked = SimulatedUser(benchmark) if user == "simulated" else user
    acts = any(q.task == ACT for q in benchmark.queries)
    act = RecordTable(benchmark) if acts else None
    return run_agent(agent, benchmark, place, user=asked, act=act, **options)


class Recalled:
    """A retriever that gives again what the answers rest on."""

    def __init__(self, answers: Answers) -> None:
        self.name = answers.name
        self._answers = answers.folder.content_hash[:16]
        self._passages = {q: a.passages for q, a in answers.answers.items()}

    def describe(self) -> dict[str, Any]:
        return {"retriever": "the passages its answers rest on", "answers": self._answers}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            passage_ids = dict.fromkeys(self._passages.get(question.id, ()))
            yield Ranking(question=question.id, passages=tuple(passage_ids)[:k])


def most_cited(answers: Answers) -> int:
    return max((len(a.passages) for a in answers.answers.values()), default=1) or 1


def together(
    usual: Sequence[Measure], extra: Sequence[Measure], of: Literal["rankings", "answers"]
) -> list[Measure]:
    """The usual measures and those asked for that are of the same kind, each once."""
    wanted = {str(m): m for m in usual}
    wanted |= {str(m): m for m in extra if m.of in (of, "both") and str(m) not in wanted}
    return list(wanted.values())
