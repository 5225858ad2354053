"""The three-line use: `whichone.evaluate(my_search, benchmark="builtin/amber")`."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import UsageError
from whichone.measures import summary
from whichone.measures.answer_measures import ACT
from whichone.measures.comparison import Comparison, comparison_rows
from whichone.measures.comparison import compare as compare_scores
from whichone.measures.intervals import cluster_note
from whichone.measures.measure import Measure, parse_measures
from whichone.measures.outcomes import Judging, judging
from whichone.measures.scores import (
    ACTION_MEASURES,
    COMPARED,
    Scores,
    distinctly_named,
    score_answers,
    score_folder,
    score_run,
)
from whichone.measures.summary import COLUMNS as SUMMARY_COLUMNS
from whichone.options import takes
from whichone.records import Question, Ranking
from whichone.runs.agent_runner import RecordTable, SimulatedUser, run_agent
from whichone.runs.provenance import Returns
from whichone.runs.read import as_reader, run_reader
from whichone.runs.retrieve import as_retriever
from whichone.runs.run import Answers, Run, trace_of
from whichone.runs.run_options import CompareOptions
from whichone.runs.runner import run_retriever
from whichone.runs.shown import Setting

# Rows as a table of plain text, or of HTML for a notebook.
_Rows = Sequence[Mapping[str, Any]]


def text_table(rows: _Rows) -> str:
    widths = {c: max(len(c), *(len(str(r[c])) for r in rows)) for c in rows[0]}
    lines = ["  ".join(c.ljust(w) for c, w in widths.items())]
    lines += ["  ".join(str(r[c]).ljust(w) for c, w in widths.items()) for r in rows]
    return "\n".join(line.rstrip() for line in lines)


def html_table(rows: _Rows) -> str:
    head = "".join(f"<th>{html.escape(c)}</th>" for c in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row.values()) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


# The answering half of `whichone.evaluate`: a reader of what was found, or a whole RAG in one function.

_OUTCOME_WORDS = {
    "right": "right",
    "several": "right for several",
    "asked": "asked back",
    "refused": "refused",
    "namesake": "for a namesake",
    "wrong": "wrong otherwise",
}


@dataclass(eq=False, repr=False)
class AnswerResult:
    """How right the answers were, and how often they were a namesake's."""

    benchmark: Benchmark
    scores: Scores
    rows: list[summary.SummaryRow]
    counts: dict[str, Any]

    @classmethod
    def of(
        cls, answers: Answers, benchmark: Benchmark, extra: Sequence[Measure], judge: Judging | None = None
    ) -> Self:
        tasks = sorted({q.task for q in benchmark.queries})
        usual = summary.summary_measures(tasks)
        if any(trace_of(a) is not None for a in answers.answers.values()):
            usual += summary.TRACE_MEASURES
        if ACT in tasks:
            usual += ACTION_MEASURES
        scores = score_answers(answers, benchmark, together(parse_measures(usual), extra, "answers"), judge)
        return cls(benchmark, scores, summary.summarise_answers(scores), answers.folder.manifest.counts)

    def to_dict(self) -> dict[str, Any]:
        systems: dict[str, Any] = {}
        for row in self.rows:
            figures = {name: row.values[name].brief() for name in summary.ANSWER_SUMMARY_COLUMNS}
            place = systems.setdefault(row.benchmark, {}) if row.benchmark else systems
            place.setdefault(row.collection, {})[row.task] = {"measure": row.measure, **figures}
        for row in summary.outcome_rows(self.scores):
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
                **{_OUTCOME_WORDS[name]: summary.percent(value) for name, value in row.values.items()},
            }
            for row in summary.outcome_rows(self.scores)
        ]

    def table(self) -> list[dict[str, Any]]:
        """Rows for printing, in percent."""
        return [
            {
                **row.place,
                "system": row.system,
                "measure": row.measure,
                **{name: summary.percent(row.values[name]) for name in summary.ANSWER_SUMMARY_COLUMNS},
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        text = f"{text_table(self.table())}\n{self._footnote()}"
        return "\n\n".join([text, *map(text_table, filter(None, (self.outcomes(), self.traces())))])

    __repr__ = __str__

    def _footnote(self) -> str:
        rule = cluster_note(self.benchmark.queries)
        failed = self.counts.get("failures", 0)
        return f"percent, {rule}; namesake: another bearer's value was given" + (
            f"; {failed:,} failures count as wrong" if failed else ""
        )

    def _repr_html_(self) -> str:
        page = f"{html_table(self.table())}<p>{html.escape(self._footnote())}</p>"
        return page + "".join(map(html_table, filter(None, (self.outcomes(), self.traces()))))

    def traces(self) -> list[dict[str, Any]]:
        """Rows for printing: what an agent did, on the average of each collection and task."""
        return [
            {
                **row.place,
                "calls": f"{row.values['calls'].value or 0:.1f}",
                **{n: summary.percent(row.values[n]) for n in summary.TRACE_MEASURES if n != "calls"},
                **{n: summary.percent(row.values[n]) for n in ACTION_MEASURES if n in row.values},
            }
            for row in summary.trace_rows(self.scores)
        ]


def answer_by_agent(agent: Any, benchmark: Benchmark, place: Path, *, user: Any, **options: Any) -> Answers:
    """Let an agent work on every question; "simulated" is the user who knows whom it means."""
    if not (user is None or user == "simulated" or callable(user)):
        raise UsageError(f"user is 'simulated', a function (question, text) -> reply, or None, not {user!r}")
    asked = SimulatedUser(benchmark) if user == "simulated" else user
    act = RecordTable(benchmark) if any(q.task == ACT for q in benchmark.queries) else None
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


def together(
    usual: Sequence[Measure], extra: Sequence[Measure], of: Literal["rankings", "answers"]
) -> list[Measure]:
    """The usual measures and those asked for that are of the same kind, each once."""
    return list({str(m): m for m in [*usual, *(m for m in extra if m.of in (of, "both"))]}.values())


# The three-line use: `whichone.evaluate(my_search, benchmark="builtin/amber")`.


@dataclass(eq=False, repr=False)
class Result:
    """What an evaluation found: prints as a table, converts to Arrow, pandas, HTML and JSON."""

    benchmark: Benchmark
    scores: Scores
    rows: list[summary.SummaryRow]
    answers: AnswerResult | None = None
    """What was answered, where `evaluate` was given something that answers."""

    def to_dict(self) -> dict[str, Any]:
        document = summary.as_document(self.rows, self.benchmark)
        return document | ({"answers": self.answers.to_dict()} if self.answers else {})

    def to_arrow(self) -> pa.Table:
        """One row for each system, benchmark (where there are several), collection, task and figure."""
        return pa.Table.from_pylist(
            [
                {
                    "system": row.system,
                    **row.place,
                    "figure": name,
                    **msgspec.structs.asdict(row.values[name]),
                }
                for row in self.rows
                for name in SUMMARY_COLUMNS
            ]
        )

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def per_query(self) -> pa.Table:
        return self.scores.to_arrow()

    def __str__(self) -> str:
        lines = [text_table(summary.as_table(self.rows)), self._footnote()]
        return "\n".join([*lines, "", str(self.answers)] if self.answers else lines)

    __repr__ = __str__

    def _footnote(self) -> str:
        rule = cluster_note(self.benchmark.queries)
        footnote = f"percent, {rule}; confusion within {summary.DEPTH} pages; {self.benchmark.id}"
        return "; ".join([footnote, *self.scores.cautions()])

    def _repr_html_(self) -> str:
        page = f"{html_table(summary.as_table(self.rows))}<p>{html.escape(self._footnote())}</p>"
        return page + (self.answers._repr_html_() if self.answers else "")


def evaluate(
    search: Any = None,
    benchmark: Where = "builtin/amber",
    *,
    answer: Any = None,
    agent: Any = None,
    user: Any = None,
    turns: int = 0,
    budget: int = 10,
    k: int = 20,
    name: str | None = None,
    returns: Returns | None = None,
    batched: bool | None = None,
    measures: Sequence[str] = (),
    on_error: str = "fail",
    judge: Any = None,
    outcome_words: str | Path | None = None,
    run: str | Path | None = None,
    answers: str | Path | None = None,
) -> Result:
    """Ask every question of a benchmark and measure what is found, and what is answered.

    Several benchmarks over one corpus, `["bench/human", "bench/nonhuman"]` or a folder that contains
    them, are asked together, and the benchmark is a column of every table.

    `search` is a function `(text, k) -> ids` (pages or passages; (id, score) pairs are welcome), or
    anything with whichone's `search(questions, k)`. `answer` is a function `(text, passages) -> text`
    that reads what `search` found; or, without `search`, `(text) -> (text, ids)`, which finds its
    passages itself. None is a refusal. `agent` is a function `(text, tools) -> text`, or anything with
    whichone's `work(question, tools)`: it searches with `search` (BM25 where there is none), asks the
    `user` ("simulated", or a function of question and text), within a `budget` of calls; with `turns` a
    question back that ends its turn is answered too. `run` and `answers` keep what came out in folders.

    Outcomes of answers are decided by rules; `judge` decides instead: a chat model, such as
    `whichone.chat.endpoint.Endpoint`, or a function of question, answer, accepted values and namesakes'
    values that returns one of the six words. `outcome_words` is a list of phrases of your own.
    """
    opened = Benchmark.open(benchmark)
    if search is None and answer is None and agent is None:
        raise UsageError("there is nothing to evaluate", hint="give it search, answer or agent")
    if answer is not None and agent is not None:
        raise UsageError("an agent answers itself", hint="give it answer or agent, not both")
    if isinstance(measures, str):
        raise UsageError(f"measures is a list of names, not {measures!r}")
    wanted = parse_measures(list(dict.fromkeys(measures)))
    decides = judging(judge, outcome_words)
    with tempfile.TemporaryDirectory() as temporary:
        kept = Path(answers) if answers else Path(temporary) / "answers"
        said = None
        if agent is not None:
            tools = {"search": search, "user": user, "turns": turns, "budget": budget}
            said = answer_by_agent(agent, opened, kept, name=name, on_error=on_error, **tools)
        elif search is None:  # a function that finds its passages itself; the ids it gives are its ranking
            reader = as_reader(answer, name=name)
            called = str(name or getattr(reader, "name", type(reader).__name__))
            setting = Setting(passages="none")
            said = run_reader(reader, opened, kept, setting, name=called, on_error=on_error, cites="corpus")
        if said is not None:
            search = Recalled(said)
            k = max((len(a.passages) for a in said.answers.values()), default=1) or 1
        retriever = as_retriever(search, batched=batched, name=name)
        runs = run_retriever(
            retriever,
            opened,
            run or Path(temporary) / "run",
            k=k,
            pages=True,
            name=str(name or getattr(retriever, "name", type(retriever).__name__)),
            returns=returns,
            on_error=on_error,
        )
        scores = score_run(runs, opened, together(parse_measures(COMPARED), wanted, "rankings"))
        if said is None and answer is not None:
            setting = Setting(passages="retrieved", depth=k)
            said = run_reader(
                as_reader(answer), opened, kept, setting, run=runs, on_error=on_error, cites="corpus"
            )
        result = None if said is None else AnswerResult.of(said, opened, wanted, decides)
    return Result(opened, scores, summary.summarise(scores), result)


# `whichone.compare(a, b)`: which of several systems is better, paired by name, with intervals.


class Comparisons(Sequence[Comparison]):
    """Every pair on every measure: a sequence of `Comparison`, prints as a table, converts to Arrow and JSON."""

    def __init__(self, comparisons: Sequence[Comparison], note: str) -> None:
        self._found = tuple(comparisons)
        self.note = note

    def __getitem__(self, place: Any) -> Any:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def to_dict(self) -> list[dict[str, Any]]:
        return msgspec.to_builtins(self._found)

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_pylist(self.to_dict())

    def __str__(self) -> str:
        return f"{text_table(comparison_rows(self._found))}\n{self.note}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{html_table(comparison_rows(self._found))}<p>{html.escape(self.note)}</p>"


@takes(CompareOptions)
def compare(*systems: str | Path | Run | Result | Scores, plan: CompareOptions) -> Comparisons:
    """Compare two or more systems over one benchmark: paired by cluster, Holm-corrected together.

    A system is a run's or answers' folder, a `Run`, what `evaluate` gave, or `Scores`. `measures` are names such as
    "acc@1" (the usual ones of the folders' kind where none is given; a `Result` has those it was evaluated
    with). `by` compares in every slice by these columns or attributes of the queries; with `baseline` each
    system is compared with that one only.

        print(whichone.compare("runs/bm25", "runs/mine", measures=["acc@1", "confused@20"]))
    """
    measures = plan.measures
    if any(isinstance(names, str) for names in (measures, plan.by)):
        raise UsageError("measures and by are lists of names")
    scores = [_scores(system, measures, plan.benchmark or None) for system in systems]
    places = [
        system if isinstance(system, str | Path) else getattr(system, "path", str(n))
        for n, system in enumerate(systems, 1)
    ]
    if not (named := distinctly_named(scores, places)):
        raise UsageError("two or more systems are needed for a comparison")
    shared = {str(m): m for m in named[0].measures if all(str(m) in s.values for s in named)}
    if missing := sorted(set(measures) - shared.keys()):
        raise UsageError(
            f"not every system was scored by {', '.join(missing)}",
            hint="give their folders, or evaluate(..., measures=[...])",
        )
    wanted = [m for name, m in shared.items() if not measures or name in measures]
    comparisons = compare_scores(named, wanted, by=plan.by, seed=plan.seed, baseline=plan.baseline)
    cautions = [caution for s in named for caution in s.cautions()]
    return Comparisons(comparisons, "; ".join([cluster_note(named[0].queries), *cautions]))


def _scores(
    system: str | Path | Run | Result | Scores, measures: Sequence[str], benchmark: Where | None
) -> Scores:
    if isinstance(system, Result | Scores):
        return system.scores if isinstance(system, Result) else system
    place = system.path if isinstance(system, Run) else system
    if not isinstance(place, str | Path):
        raise UsageError(f"{system!r} is no run, no result and no folder")
    return score_folder(place, measures, benchmark=benchmark)
