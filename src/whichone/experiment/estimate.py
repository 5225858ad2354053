"""What a cell would take: from earlier cells of the same system where there are some, else assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.endpoint import Prices
from whichone.chat.prompt import DEFAULT, find_prompt
from whichone.errors import WhichoneError
from whichone.experiment.cells import Cell, plain
from whichone.files.folder import Folder
from whichone.files.lines import read_lines
from whichone.runs.shown import AMBIGDOCS, Setting, Shows

CHARACTERS_A_TOKEN = 4.0
ASSUMED_SECONDS = {"run": 0.01, "answers": 0.01, "llm": 2.0}
"""A question alone, where nothing was measured yet."""
ASSUMED_TOKENS, ASSUMED_LONG = 30, 120
SAMPLE = 50


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Questions still to ask, seconds and money; `basis` says where the seconds come from."""

    questions: int
    seconds: float
    basis: str
    tokens: int | None = None
    cost: float | None = None


class Estimator:
    """Looks at what finished cells of the same name took, on whatever benchmark, key or seed."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._benchmarks: dict[str, Benchmark] = {}

    def estimate(self, cell: Cell) -> Estimate:
        if cell.benchmark not in self._benchmarks:
            self._benchmarks[cell.benchmark] = Benchmark.open(cell.benchmark)
        benchmark = self._benchmarks[cell.benchmark]
        left = self._left(cell, benchmark)
        measured = _seconds_a_question(cell)
        llm = cell.reader is not None and cell.reader.reader == "llm"
        assumed = ASSUMED_SECONDS["llm" if llm else cell.kind]
        seconds = measured if measured is not None else assumed
        options = cell.reader.options if cell.reader else {}
        if llm and measured is None:
            seconds /= float(options.get("concurrency", 16))
        tokens = cost = None
        if llm and cell.setting is not None:
            prompt, completion = _tokens(benchmark, cell.setting, options)
            tokens = round(left * (prompt + completion))
            prices = Prices(
                prompt=options.get("price_prompt"), completion=options.get("price_completion")
            )
            cost = prices.cost(round(left * prompt), round(left * completion))
        return Estimate(
            questions=left,
            seconds=left * seconds,
            basis="measured" if measured is not None else "assumed",
            tokens=tokens,
            cost=cost,
        )

    def _left(self, cell: Cell, benchmark: Benchmark) -> int:
        total = len(benchmark.queries)
        if cell.kind == "answers" and self._limit is not None:
            total = min(total, self._limit)
        status = cell.status
        if status == "done":
            return 0
        journal = cell.path / ".partial" / "journal.jsonl"
        if cell.kind == "answers" and status == "begun" and journal.exists():
            return max(0, total - max(0, sum(1 for _ in read_lines(journal)) - 1))
        return total


def _seconds_a_question(cell: Cell) -> float | None:
    """The mean over the finished cells of this name; None where there is none."""
    questions, seconds = 0, 0.0
    for place in cell.path.parent.glob(f"*-{plain(cell.name)}-{'?' * len(cell.key)}"):
        try:
            manifest = Folder.open(place, cell.kind).manifest
        except WhichoneError:
            continue
        questions += manifest.counts.get("questions", 0) - manifest.counts.get("left_out", 0)
        seconds += float(manifest.made.get("seconds", 0.0))
    return seconds / questions if questions else None


def _tokens(
    benchmark: Benchmark, setting: Setting, options: Mapping[str, Any]
) -> tuple[float, float]:
    """Tokens of a prompt and of a reply, from a sample of the questions."""
    prompt = find_prompt(str(options.get("prompt", DEFAULT)))
    queries = benchmark.queries[:SAMPLE]
    texts = benchmark.passages["text"].slice(0, SAMPLE).to_pylist()
    length = sum(map(len, texts)) / max(1, len(texts))
    shows = None if setting.needs_run else Shows(benchmark, setting)
    chosen = {q.id: shows.choose(q) for q in queries} if shows else {}
    tasks = shows.tasks(queries, chosen) if shows else []
    shown = {task.question.id: task.passages for task in tasks}
    total = 0.0
    for query in queries:
        messages = prompt.messages(query.task, query.input, shown.get(query.id, ()))
        total += sum(len(m["content"]) for m in messages)
        if shows is None:
            total += setting.depth * length
    long = all(q.task == AMBIGDOCS for q in queries)
    most = options.get("max_tokens")
    reply = float(ASSUMED_LONG if long else ASSUMED_TOKENS)
    return total / len(queries) / CHARACTERS_A_TOKEN, min(reply, float(most)) if most else reply
