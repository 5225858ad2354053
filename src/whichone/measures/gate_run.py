"""The whole gate for a run: its scores, BM25 over the same corpus as a floor, and the worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import UsageError, WhichoneError
from whichone.files.folder import Folder
from whichone.files.output import cache_folder
from whichone.measures.gate import (
    Budgets,
    GateReport,
    check_slices,
    gate_depth,
    gate_measures,
)
from whichone.measures.measure import parse_measures
from whichone.measures.outcome_judge import Judging
from whichone.measures.score import score_folder
from whichone.measures.scores import Scores, score_run
from whichone.measures.worst import worst_answers, worst_mistakes
from whichone.runs.answers import Answers
from whichone.runs.retrieve import default_index_folder, make_retriever
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

FLOOR = "bm25"
ANSWER_MEASURES = ("answer_right", "answered_for_namesake", "wrong_action", "failure")


def gate_folder(
    path: str | Path,
    budgets: Budgets,
    *,
    benchmark: Where | None = None,
    baseline: str | Path | None = None,
    floor: bool = True,
    strict: bool = False,
    seed: int = 0,
    judge: Judging | None = None,
    by: Sequence[str] = (),
) -> GateReport:
    """The gate for a run or a folder of answers by its path; a judge decides outcomes of answers."""
    folder = Folder.open(path, ("run", "answers"))
    if folder.manifest.kind == "answers":
        asked: dict[str, Any] = {"benchmark": benchmark, "judge": judge}
        old = score_folder(baseline, ANSWER_MEASURES, **asked) if baseline else None
        scores = score_folder(path, ANSWER_MEASURES, **asked)
        answers = Answers(folder)
        worst = worst_answers(answers, answers.benchmark(benchmark), judge=judge)
        return check_slices(
            scores, budgets, by, baseline=old, strict=strict, seed=seed, worst=worst
        )
    if judge is not None:
        raise UsageError("a judge reads answers, and this is a run", where=str(path))
    run = Run(folder)
    return gate_run(
        run,
        run.benchmark(benchmark),
        budgets,
        baseline=Run.open(baseline) if baseline else None,
        floor=floor,
        strict=strict,
        seed=seed,
        by=by,
    )


def gate_run(
    run: Run,
    benchmark: Benchmark,
    budgets: Budgets,
    *,
    baseline: Run | None = None,
    floor: bool = True,
    strict: bool = False,
    seed: int = 0,
    by: Sequence[str] = (),
) -> GateReport:
    """Budgets, what applies to every search, the floor unless it is switched off, and the baseline."""
    depth = gate_depth(benchmark.corpus.page_count)
    measures = parse_measures(gate_measures(depth))
    scores = score_run(run, benchmark, measures)
    return check_slices(
        scores,
        budgets,
        by,
        baseline=score_run(baseline, benchmark, measures) if baseline else None,
        floor=floor_scores(benchmark, gate_measures(depth), _depth_of(run)) if floor else None,
        depth=depth,
        strict=strict,
        seed=seed,
        worst=worst_mistakes(run, benchmark),
    )


def _depth_of(run: Run) -> int:
    """How many results the run was asked for: the floor gets as many places as the search had."""
    depth = run.description.get("k")
    return depth if isinstance(depth, int) else 100


def floor_scores(benchmark: Benchmark, measures: list[str], k: int) -> Scores | None:
    """Scores of BM25 over the benchmark's corpus, its run kept in the cache; None without passages."""
    if not len(benchmark.corpus):
        return None
    place = cache_folder() / "floors" / benchmark.id / str(k)
    try:
        run = Run.open(place)
    except WhichoneError:
        retriever = make_retriever(FLOOR, benchmark, default_index_folder(benchmark.corpus), {})
        run = run_retriever(retriever, benchmark, place, k=k, name=FLOOR)
    return score_run(run, benchmark, parse_measures(measures))
