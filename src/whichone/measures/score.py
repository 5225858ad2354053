"""Scoring a folder from its path and the measures' names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Where
from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.measures.answer_scores import score_answers
from whichone.measures.measure import check_of, parse_measures
from whichone.measures.outcome_judge import Judging
from whichone.measures.scores import Scores, score_run, slice_scores
from whichone.measures.usual import RANKINGS, usual_measures
from whichone.runs.answers import Answers
from whichone.runs.run import Run


def score_folder(
    path: str | Path,
    measures: Sequence[str] = (),
    *,
    benchmark: Where | None = None,
    judge: Judging | None = None,
) -> Scores:
    """Every measure of every query of a run, or of a folder of answers.

    Without measures the usual ones of the folder's kind and the benchmark's task are taken.
    """
    folder = Folder.open(path, ("run", "answers"))
    if folder.manifest.kind == "answers":
        answers = Answers(folder)
        base = answers.benchmark(benchmark)
        parsed = parse_measures(measures or usual_measures(base))
        return score_answers(answers, base, parsed, judge)
    if judge is not None:
        raise UsageError("a judge reads answers, and this is a run", where=str(path))
    run = Run(folder)
    parsed = parse_measures(measures or RANKINGS)
    check_of(parsed, "rankings")
    return score_run(run, run.benchmark(benchmark), parsed)


def slice_rows(scores: Scores, by: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows for printing: the slice's values, and the estimate of each measure."""
    return [
        {**where, **{name: e.brief() for name, e in estimates.items()}}
        for where, estimates in slice_scores(scores, by)
    ]


def distinctly_named(scores: Sequence[Scores], paths: Sequence[str | Path]) -> list[Scores]:
    """Systems of one name get their folder's name in parentheses."""
    names = [s.system for s in scores]
    return [
        replace(s, system=f"{s.system} ({Path(path).name})") if names.count(s.system) > 1 else s
        for s, path in zip(scores, paths, strict=True)
    ]
