"""Running an experiment: cells that are done are not done again, the others go on where they stopped."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.endpoint import Prices
from whichone.chat.prompt import DEFAULT, find_prompt
from whichone.errors import BadInput, WhichoneError
from whichone.experiment.plan import Cell, ExperimentOptions, ImportedPlan, Plan, cells, plain, read_plan
from whichone.files.folder import Folder
from whichone.files.lines import read_lines, write_atomic
from whichone.files.manifest import MANIFEST
from whichone.measures.scores import score_folder, slice_rows
from whichone.options import takes
from whichone.progress import talk
from whichone.records import grouped
from whichone.report.report import make_report
from whichone.retrieval.dense.encoder import encoders_kept
from whichone.runs.read import read
from whichone.runs.retrieve import retrieve
from whichone.runs.shown import AMBIGDOCS, Setting, Shows
from whichone.versions import environment

# What a cell would take: from earlier cells of the same system where there are some, else assumed.


CHARACTERS_A_TOKEN = 4.0
# A question alone, where nothing was measured yet.
ASSUMED_SECONDS = {"run": 0.01, "answers": 0.01, "llm": 2.0}
ASSUMED_TOKENS, ASSUMED_LONG = 30, 120
SAMPLE = 50


class CellEstimate(msgspec.Struct, frozen=True, kw_only=True):
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

    def estimate(self, cell: Cell) -> CellEstimate:
        if cell.benchmark not in self._benchmarks:
            self._benchmarks[cell.benchmark] = Benchmark.open(cell.benchmark)
        benchmark = self._benchmarks[cell.benchmark]
        left = self._left(cell, benchmark)
        measured = _seconds_a_question(cell)
        llm = cell.reader is not None and cell.reader.reader == "llm"
        seconds = measured if measured is not None else ASSUMED_SECONDS["llm" if llm else cell.kind]
        options = cell.reader.options if cell.reader else {}
        if llm and measured is None:
            seconds /= float(options.get("concurrency", 16))
        tokens = cost = None
        if llm and cell.setting is not None:
            prompt, completion = _tokens(benchmark, cell.setting, options)
            tokens = round(left * (prompt + completion))
            prices = Prices(prompt=options.get("price_prompt"), completion=options.get("price_completion"))
            cost = prices.cost(round(left * prompt), round(left * completion))
        return CellEstimate(
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
        if (status := cell.status) == "done":
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


def _tokens(benchmark: Benchmark, setting: Setting, options: Mapping[str, Any]) -> tuple[float, float]:
    """Tokens of a prompt and of a reply, from a sample of the questions."""
    prompt = find_prompt(str(options.get("prompt", DEFAULT)))
    queries = benchmark.queries[:SAMPLE]
    texts = benchmark.passages["text"].slice(0, SAMPLE).to_pylist()
    length = sum(map(len, texts)) / max(1, len(texts))
    shows = None if setting.needs_run else Shows(benchmark, setting)
    chosen = {q.id: shows.choose(q) for q in queries} if shows else {}
    shown = {task.question.id: task.passages for task in (shows.tasks(queries, chosen) if shows else [])}
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


LISTING = "experiment.json"


class CellResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a cell: its folder, and its measures over all queries."""

    kind: str
    benchmark: str
    name: str
    key: str
    path: str
    status: str
    error: str | None = None
    measures: dict[str, Any] = {}


def output_folder(plan: Plan, file: Path, out: str | Path | None = None) -> Path:
    """Where the cells lie: as asked, as the file says, else beside the file under its name."""
    folder = out or plan.out
    return Path(folder) if folder else file.with_name(f"{file.stem}-cells")


@takes(ExperimentOptions, "options")
def dry_run(file: str | Path, options: ExperimentOptions) -> list[dict[str, Any]]:
    """Every cell with what it would take; nothing is run."""
    plan = read_plan(file, options.allow)
    trainings = [
        {"kind": "training", "name": each.out, "status": "done" if each.done else "to do", "path": each.out}
        for each in plan.first
    ]
    if any(not each.done for each in plan.first):
        return trainings  # what the cells are depends on the models
    listed = list(cells(plan, output_folder(plan, Path(file), options.out)))
    estimator = Estimator(plan.limit)
    return trainings + [
        {
            "kind": cell.kind,
            "benchmark": cell.benchmark,
            "name": cell.name,
            "status": cell.status,
            "path": str(cell.path),
            **msgspec.to_builtins(estimator.estimate(cell)),
        }
        for cell in listed
    ]


def prepare(plan: Plan, allow: Sequence[str]) -> None:
    """Each step and training in a process of its own; one that was stopped goes on."""
    named = {**os.environ, registry.ONLY_THIS_CODE: "\n".join(allow)}
    for each in plan.first:
        if each.done:
            continue
        talk(f"whichone {shlex.join(each.words)}")
        done = subprocess.run([sys.executable, "-m", "whichone", *each.words], check=False, env=named)
        if done.returncode:
            raise BadInput(
                f"what makes it ended with exit code {done.returncode}",
                file=each.out,
                hint=f"whichone {shlex.join(each.words)}",
            )


@takes(ExperimentOptions, "options")
def run_experiment(file: str | Path, options: ExperimentOptions) -> list[CellResult]:
    """Do every cell that is not done, score all of them; a failing cell does not stop the others.

    Code of one's own that the file names runs only where `allow` names it too.
    """
    plan = read_plan(file, options.allow)
    place = output_folder(plan, Path(file), options.out)
    results: list[CellResult] = []
    failed: set[str] = set()
    prepare(plan, options.allow)
    listed = list(cells(plan, place))
    with encoders_kept(), registry.only_this_code(options.allow):  # many rows of a ladder share an encoder
        for n, cell in enumerate(listed, 1):
            status = cell.status
            talk(f"[{n}/{len(listed)}] {cell.benchmark}: {cell.name}: {status}")
            result = _result(cell, status)
            results.append(result)
            try:
                if cell.run is not None and cell.run.key in failed:
                    raise BadInput(f"the run it reads from failed: {cell.run.name}")
                if failed.intersection(cell.starts):
                    raise BadInput("a run that it starts from failed")
                if status != "done":
                    _do(cell, plan)
                result.status = "done"
                result.measures = _measures(cell, plan)
            except WhichoneError as error:
                failed.add(cell.key)
                result.status, result.error = "failed", str(error)
                talk(f"  failed: {error}")
            _list(place, file, results)
    if len(failed) == len(listed):
        raise BadInput(f"all {len(listed)} cells failed, the last one so: {results[-1].error}")
    results += [_imported(each, plan) for each in plan.imported]
    _list(place, file, results)
    return results


def _imported(listed: ImportedPlan, plan: Plan) -> CellResult:
    """The row of what another system gave; without it the row says how it is had."""
    result = CellResult(
        kind="answers",
        benchmark=plan.benchmarks[0],
        name=listed.name,
        key="",
        path=listed.folder,
        status="done",
    )
    if (Path(listed.folder) / MANIFEST).exists():
        result.measures = slice_rows(score_folder(listed.folder, plan.measures, benchmark=result.benchmark))[
            0
        ]
    else:
        result.status = "not imported"
        talk(f"{listed.name}: no row yet: whichone import answers {result.benchmark} FILE {listed.folder}")
    return result


def report_experiment(results: Sequence[CellResult], out: str | Path) -> list[Path]:
    """A report of the cells of this experiment alone, one page for each benchmark.

    Folders beside them may be cells of earlier versions of the file.
    """
    places = grouped((result.benchmark, result.path) for result in results if result.status == "done")
    out = Path(out)
    written = []
    for benchmark, paths in places.items():
        name = f"{out.stem}-{plain(benchmark)}{out.suffix}" if len(places) > 1 else out.name
        written += make_report(paths, out.with_name(name), benchmark=benchmark)[:1]
    return written


def _do(cell: Cell, plan: Plan) -> None:
    if cell.retriever is not None:
        retrieve(
            cell.benchmark,
            cell.path,
            retriever=cell.retriever.retriever,
            options=dict(cell.retriever.options),
            k=cell.retriever.k,
            name=cell.name,
        )
        return
    assert cell.reader is not None and cell.setting is not None
    read(
        cell.benchmark,
        cell.path,
        reader=cell.reader.reader,
        options=cell.reader.options,
        **msgspec.structs.asdict(cell.setting),
        run=cell.run.path if cell.run else None,
        name=cell.name,
        limit=plan.limit,
    )


def _measures(cell: Cell, plan: Plan) -> dict[str, Any]:
    wanted = plan.retrieval_measures if cell.kind == "run" else plan.measures
    return slice_rows(score_folder(cell.path, wanted, benchmark=cell.benchmark))[0]


def _result(cell: Cell, status: str) -> CellResult:
    return CellResult(
        kind=cell.kind,
        benchmark=cell.benchmark,
        name=cell.name,
        key=cell.key,
        path=str(cell.path),
        status=status,
    )


def _list(place: Path, file: str | Path, results: Sequence[CellResult]) -> None:
    """The listing beside the cells: rewritten after each of them, so that it is never behind."""
    document = {
        "command": shlex.join(["whichone", "experiment", str(file)]),
        "cells": msgspec.to_builtins(list(results)),
        "made": environment(),
    }
    place.mkdir(parents=True, exist_ok=True)
    write_atomic(place / LISTING, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
