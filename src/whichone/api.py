"""The three-line use: `whichone.evaluate(my_search, benchmark="builtin/amber")`."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, cluster_rule, score_run
from whichone.measures.summary import COLUMNS, DEPTH, SummaryRow, as_document, as_table, summarise
from whichone.retrieval.checks import Returns
from whichone.retrieval.retrieve import as_retriever
from whichone.retrieval.runner import run_retriever


class Result:
    """What an evaluation found: prints as a table, converts to Arrow, pandas, HTML and JSON."""

    def __init__(self, benchmark: Benchmark, scores: Scores, rows: list[SummaryRow]) -> None:
        self.benchmark = benchmark
        self.scores = scores
        self.rows = rows

    def to_dict(self) -> dict[str, Any]:
        return as_document(self.rows, self.benchmark)

    def to_arrow(self) -> pa.Table:
        """One row for each system, collection, task and figure."""
        records = [
            {
                "system": row.system,
                "collection": row.collection,
                "task": row.task,
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
        rows = as_table(self.rows)
        widths = {c: max(len(c), *(len(str(r[c])) for r in rows)) for c in rows[0]}
        lines = ["  ".join(c.ljust(w) for c, w in widths.items())]
        lines += ["  ".join(str(r[c]).ljust(w) for c, w in widths.items()) for r in rows]
        return "\n".join([*(line.rstrip() for line in lines), self._footnote()])

    __repr__ = __str__

    def _footnote(self) -> str:
        rule = cluster_rule(self.benchmark.queries)
        return f"percent, 95 % intervals by {rule}; confusion within {DEPTH} pages; {self.benchmark.id}"

    def _repr_html_(self) -> str:
        rows = as_table(self.rows)
        head = "".join(f"<th>{html.escape(c)}</th>" for c in rows[0])
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row.values()) + "</tr>"
            for row in rows
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{html.escape(self._footnote())}</p>"
        )


def evaluate(
    search: Any,
    benchmark: str | Path | Benchmark = "builtin/amber",
    *,
    k: int = 20,
    name: str | None = None,
    returns: Returns | None = None,
    batched: bool | None = None,
    measures: Sequence[str] = (),
    on_error: str = "fail",
    run: str | Path | None = None,
    seed: int = 0,
) -> Result:
    """Ask every question of a benchmark and measure the answers.

    `search` is a function `(text, k) -> ids` (pages or passages; (id, score) pairs are welcome), or
    anything with whichone's `search(questions, k)`. `run` keeps the rankings in a folder.
    """
    opened = benchmark if isinstance(benchmark, Benchmark) else Benchmark.open(benchmark)
    retriever = as_retriever(search, batched=batched, name=name)
    wanted = ("acc@1", "all_correct@1", f"confused@{DEPTH}", *measures)
    parsed = parse_measures(list(dict.fromkeys(wanted)))
    called = str(name or getattr(retriever, "name", type(retriever).__name__))
    with tempfile.TemporaryDirectory() as temporary:
        made = run_retriever(
            retriever,
            opened,
            run or Path(temporary) / "run",
            k=k,
            name=called,
            returns=returns,
            on_error=on_error,
        )
        scores = score_run(made, opened, parsed)
    return Result(opened, scores, summarise(scores, seed=seed))
