"""The three-line use: `whichone.evaluate(my_search, benchmark="builtin/amber")`."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from whichone.api_answers import (
    AnswerResult,
    Recalled,
    answer_alone,
    answer_by_agent,
    answer_found,
    most_cited,
    together,
)
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import UsageError
from whichone.measures.clusters import cluster_note
from whichone.measures.measure import parse_measures
from whichone.measures.outcome_judge import judging
from whichone.measures.scores import Scores, score_run
from whichone.measures.summary import COLUMNS, DEPTH, SummaryRow, as_document, as_table, summarise
from whichone.measures.usual import COMPARED
from whichone.plain_tables import html_table, text_table
from whichone.runs.checks import Returns
from whichone.runs.retrieve import as_retriever
from whichone.runs.runner import run_retriever


class Result:
    """What an evaluation found: prints as a table, converts to Arrow, pandas, HTML and JSON."""

    def __init__(
        self,
        benchmark: Benchmark,
        scores: Scores,
        rows: list[SummaryRow],
        answers: AnswerResult | None = None,
    ) -> None:
        self.benchmark = benchmark
        self.scores = scores
        self.rows = rows
        self.answers = answers
        """What was answered, where `evaluate` was given something that answers."""

    def to_dict(self) -> dict[str, Any]:
        document = as_document(self.rows, self.benchmark)
        return document | ({"answers": self.answers.to_dict()} if self.answers else {})

    def to_arrow(self) -> pa.Table:
        """One row for each system, benchmark (where there are several), collection, task and figure."""
        records = [
            {
                "system": row.system,
                **row.place,
                "figure": name,
                **row.values[name].brief(),
            }
            for row in self.rows
            for name in COLUMNS
        ]
        return pa.Table.from_pylist(records)

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def per_query(self) -> pa.Table:
        return self.scores.to_arrow()

    def __str__(self) -> str:
        lines = [text_table(as_table(self.rows)), self._footnote()]
        return "\n".join([*lines, "", str(self.answers)] if self.answers else lines)

    __repr__ = __str__

    def _footnote(self) -> str:
        rule = cluster_note(self.benchmark.queries)
        footnote = f"percent, {rule}; confusion within {DEPTH} pages; {self.benchmark.id}"
        return "; ".join([footnote, *self.scores.cautions()])

    def _repr_html_(self) -> str:
        page = f"{html_table(as_table(self.rows))}<p>{html.escape(self._footnote())}</p>"
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
            said = answer_by_agent(
                agent,
                opened,
                kept,
                search=search,
                user=user,
                turns=turns,
                budget=budget,
                name=name,
                on_error=on_error,
            )
            search, k = Recalled(said), most_cited(said)
        elif search is None:
            said = answer_alone(answer, opened, kept, name=name, on_error=on_error)
            search, k = Recalled(said), most_cited(said)
        retriever = as_retriever(search, batched=batched, name=name)
        runs = run_retriever(
            retriever,
            opened,
            run or Path(temporary) / "run",
            k=k,
            name=str(name or getattr(retriever, "name", type(retriever).__name__)),
            returns=returns,
            on_error=on_error,
        )
        usual = parse_measures(COMPARED)
        scores = score_run(runs, opened, together(usual, wanted, "rankings"))
        if said is None and answer is not None:
            said = answer_found(answer, opened, runs, kept, depth=k, on_error=on_error)
        result = None if said is None else AnswerResult.of(said, opened, wanted, decides)
    return Result(opened, scores, summarise(scores), result)
