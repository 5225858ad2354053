"""DPR's results files: questions with their answers and ranked passages, read and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, sample
from whichone.files.json_records import array_records
from whichone.files.lines import write_atomic
from whichone.records import Passage, Query, Ranking
from whichone.runs.run import Run


class DprPassage(msgspec.Struct, omit_defaults=True):
    """`score` may be text (DPR) or a number (the BM25 runner of EntityQuestions)."""

    id: str | int
    text: str
    title: str | None = None
    score: float | str | None = None
    has_answer: bool | None = None


class DprResult(msgspec.Struct):
    question: str
    answers: list[str]
    ctxs: list[DprPassage]
    relation: str | None = None
    """Whichone's own field; DPR passes over it."""


def read_dpr_results(path: str | Path) -> Iterator[DprResult]:
    """Results one after another, best passage first; never more than a few megabytes are held."""
    return array_records(path, DprResult)


def score_of(passage: DprPassage, rank: int, path: str | Path, record: int | None = None) -> float:
    """The score as a number; one that is missing follows from the rank."""
    if passage.score is None:
        return -float(rank)
    try:
        return float(passage.score)
    except ValueError:
        raise BadInput(
            f"the score of passage {passage.id} is no number: {passage.score!r}",
            file=path,
            line=record,
        ) from None


def write_dpr_results(
    path: str | Path, results: Iterable[DprResult], *, scores_as_text: bool = True
) -> int:
    """A JSON list, scores as text as DPR writes them; how many results."""
    rows = []
    for result in results:
        ctxs = []
        for ctx in result.ctxs:
            row: dict[str, Any] = {"id": str(ctx.id), "title": ctx.title or "", "text": ctx.text}
            if ctx.score is not None:
                row["score"] = str(ctx.score) if scores_as_text else float(ctx.score)
            if ctx.has_answer is not None:
                row["has_answer"] = ctx.has_answer
            ctxs.append(row)
        record = {"question": result.question, "answers": result.answers, "ctxs": ctxs}
        rows.append({**record, "relation": result.relation} if result.relation else record)
    write_atomic(path, json.dumps(rows, indent=4).encode())
    return len(rows)


def results_of_run(
    run: Run,
    benchmark: Benchmark,
    has_answer: Callable[[Query, Passage], bool] | None = None,
) -> Iterator[DprResult]:
    """A run as DPR results, in the order of the benchmark's queries."""
    passages = {passage.id: passage for passage in benchmark.passage_records()}
    own_ids = _source_ids(benchmark)
    ranked: dict[str, list[tuple[str, float]]] = {}
    for row in run.rankings.to_pylist():
        ranked.setdefault(row["question"], []).append((row["passage"], row["score"]))
    for query in benchmark.queries:
        ctxs = []
        for identity, score in ranked.get(query.id, ()):
            if identity not in passages:
                raise BadInput(
                    f"{identity} is a page: DPR results hold passages with their text",
                    file=run.path,
                )
            passage = passages[identity]
            flag = has_answer(query, passage) if has_answer else None
            own = own_ids.get(identity) or identity
            ctxs.append(DprPassage(own, passage.text, passage.title, score, flag))
        yield DprResult(query.input, list(query.answers()), ctxs, query.relation)


def rankings_of_results(path: str | Path, benchmark: Benchmark) -> Iterator[Ranking]:
    """DPR results as rankings of a benchmark: questions by their text, passages by their id.

    Questions asked twice with one text are matched in the order in which they come.
    """
    waiting: dict[str, list[str]] = {}
    for query in benchmark.queries:
        waiting.setdefault(query.input, []).append(query.id)
    known = _passage_ids(benchmark)
    for result in read_dpr_results(path):
        queue = waiting.get(result.question)
        if not queue:
            raise BadInput(f"the benchmark does not ask {result.question!r}", file=path)
        lost = [str(ctx.id) for ctx in result.ctxs if str(ctx.id) not in known]
        if lost:
            raise BadInput(
                f"the corpus does not hold these passages of {result.question!r}: {sample(lost)}",
                file=path,
            )
        yield Ranking(
            question=queue.pop(0),
            passages=tuple(known[str(ctx.id)] for ctx in result.ctxs),
            scores=tuple(score_of(ctx, rank, path) for rank, ctx in enumerate(result.ctxs)),
        )


def _source_ids(benchmark: Benchmark) -> dict[str, str | None]:
    """What their own corpus calls our passages."""
    table = benchmark.passages
    return dict(zip(table["id"].to_pylist(), table["source_id"].to_pylist(), strict=True))


def _passage_ids(benchmark: Benchmark) -> dict[str, str]:
    """Our passage ids by themselves and by what their own corpus calls them."""
    own_ids = _source_ids(benchmark)
    known = {own: identity for identity, own in own_ids.items() if own}
    return {**known, **{identity: identity for identity in own_ids}}
