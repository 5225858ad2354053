"""Scores a prediction file against a gold file: aligned by id, summed in gold order."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs, to_builtins

from whichone.errors import BadInput
from whichone.papers.kilt.scores.alignment import LineIndex
from whichone.papers.kilt.scores.blocks import BlockResult, Problem, score_blocks
from whichone.papers.kilt.scores.headline import Headline
from whichone.papers.kilt.scores.records import RecordReader, Unreadable
from whichone.papers.kilt.scores.scoring import (
    AT_K,
    DOWNSTREAM,
    KILT,
    RecordScorer,
    Settings,
)
from whichone.papers.kilt.scores.submission import Finding, SubmissionCheck

Rules = Literal["default", "published"]
LISTED = 1_000

_HINTS = {
    "the gold record has no answer": "score retrieval alone with --only retrieval",
    "the gold record has no input": "the default rules score it; TriviaQA's inputs can be joined by "
    "import kilt --originals",
    "the gold record has no output, as in the released test sets": "--check looks at predictions for "
    "them; their scores are the leaderboard's",
}


class Evaluation(Struct, frozen=True):
    """Means under the official names; a part that was not scored is None.

    `problems` are the records that could not be used as they are (only with `on_error="skip"`).
    """

    downstream: dict[str, float] | None
    kilt: dict[str, float] | None
    retrieval: dict[str, float] | None
    records: dict[str, int]
    findings: list[Finding]
    problems: list[Problem]
    ids: list[str]
    columns: dict[str, array[float]]
    """For each record of the gold file its value under each name; NaN where it was left out."""

    def rows(self) -> list[dict[str, str | float | None]]:
        """One row a record of the gold file, in its order."""
        columns = list(self.columns.values())
        return [
            {"id": record, **_named(self.columns, values)}
            for record, values in zip(self.ids, zip(*columns, strict=True), strict=True)
        ]

    def document(self, headline: Headline | None = None) -> dict[str, Any]:
        """What `whichone score kilt --json` prints; at most `LISTED` skipped records are named."""
        listed = [
            {"file": p.file, "line": p.line, "id": p.id, "reason": p.reason}
            for p in self.problems[:LISTED]
        ]
        return {
            "downstream": self.downstream,
            "kilt": self.kilt,
            "retrieval": self.retrieval,
            "headline": None if headline is None else to_builtins(headline),
            "records": self.records,
            "warnings": to_builtins(self.findings),
            "skipped": {"count": len(self.problems), "records": listed},
        }


def _named(names: Iterable[str], values: Iterable[float]) -> dict[str, float | None]:
    return {name: v if v == v else None for name, v in zip(names, values, strict=True)}


def evaluate(
    gold: str | Path,
    guess: str | Path,
    settings: Settings | None = None,
    *,
    rules: Rules = "default",
    on_error: Literal["fail", "skip"] = "fail",
    workers: int | None = None,
) -> Evaluation:
    """The official scores of `guess` on `gold`.

    With `on_error="skip"` a gold record that cannot be scored is left out, and a prediction that is
    missing or cannot be scored counts as wrong; both are listed.
    """
    settings = structs.replace(settings or Settings(), needs_input=rules == "published")
    scorer = RecordScorer(settings)
    with (
        closing(LineIndex(gold, scorer.gold_reader)) as gold_index,
        closing(LineIndex(guess, scorer.guess_reader)) as guess_index,
    ):
        check = SubmissionCheck()
        problems = _bad_lines(gold_index, guess_index)
        problems += _extra_predictions(gold_index, guess_index, scorer.guess_reader, check)
        if problems and on_error == "fail":
            raise _error(problems[0])
        if not gold_index.number:
            raise BadInput("there is no record that can be scored", file=gold)
        blocks: list[BlockResult] = []
        with closing(score_blocks(scorer, gold_index, guess_index, workers)) as results:
            for block in results:
                check.merge(block.check)
                problems.extend(block.problems)
                blocks.append(block)
                serious = [p for p in block.problems if not p.layout]
                if serious and on_error == "fail":
                    raise _error(serious[0])
        ids = list(gold_index.number)
    answered = _has_answers(problems, len(ids), on_error)
    problems = [p for p in problems if not p.layout] if not answered else problems
    return _summary(settings, rules, ids, blocks, check, problems, answered)


def _bad_lines(gold: LineIndex, guess: LineIndex) -> list[Problem]:
    return [
        Problem(index.path, bad.line, bad.id, bad.reason)
        for index in (gold, guess)
        for bad in index.bad
    ]


def _extra_predictions(
    gold: LineIndex, guess: LineIndex, reader: RecordReader, check: SubmissionCheck
) -> list[Problem]:
    """Predictions for ids that the gold file lacks are noted; they too have to be records."""
    problems = []
    for record, line in guess.number.items():
        if record in gold.number:
            continue
        check.note("extra_prediction", record)
        try:
            reader.read(guess.line(line))
        except Unreadable as error:
            problems.append(Problem(guess.path, line + 1, record, str(error)))
    return problems


def _error(problem: Problem) -> BadInput:
    return BadInput(
        problem.reason,
        file=problem.file,
        line=problem.line,
        ids=[] if problem.id is None else [f"id {problem.id}"],
        hint=_HINTS.get(
            problem.reason, "--on-error skip goes on without it and lists what it left out"
        ),
    )


def _has_answers(problems: Sequence[Problem], records: int, on_error: str) -> bool:
    """False when the whole file is what a retriever writes: rankings, none with an answer."""
    rankings = [p for p in problems if p.layout]
    if not rankings:
        return True
    if len(rankings) == records:
        return False
    if on_error == "fail":
        raise _error(rankings[0])
    return True


def _summary(
    settings: Settings,
    rules: Rules,
    ids: list[str],
    blocks: Sequence[BlockResult],
    check: SubmissionCheck,
    problems: list[Problem],
    answered: bool,
) -> Evaluation:
    columns = {
        name: reduce(operator.iadd, (block.columns[n] for block in blocks), array("d"))
        for n, name in enumerate(settings.names)
    }
    means = Means(columns, settings.ks if rules == "published" else settings.cuts)
    downstream = answered and "downstream" in settings.parts and means.count("accuracy") > 0
    retrieval = "retrieval" in settings.parts and means.count("Rprec") > 0
    return Evaluation(
        downstream=means.of(DOWNSTREAM) if downstream else None,
        kilt=means.of(KILT) if downstream else None,
        retrieval=means.of_retrieval() if retrieval else None,
        records={
            "gold": len(ids),
            "downstream": means.count("accuracy") if downstream else 0,
            "retrieval": means.count("Rprec") if retrieval else 0,
        },
        findings=check.findings(),
        problems=problems,
        ids=ids,
        columns={
            name: column
            for name, column in columns.items()
            if (downstream if name in DOWNSTREAM + KILT else retrieval)
        },
    )


class Means:
    """Means of columns, added up in the order of the gold file as the official programs do."""

    def __init__(self, columns: dict[str, array[float]], ks: Sequence[int]) -> None:
        self._columns = columns
        self._ks = ks

    def count(self, name: str) -> int:
        return sum(value == value for value in self._columns[name])

    def of(self, names: Sequence[str]) -> dict[str, float]:
        return {name: self._mean(name) for name in names}

    def of_retrieval(self) -> dict[str, float]:
        """Recall and success rate are not reported at 1, as in the official output."""
        result = self.of(("Rprec",))
        if self.count("entity_in_input"):  # TriviaQA's files have no inputs
            result |= self.of(("entity_in_input",))
        for k in sorted(self._ks):
            for name in AT_K:
                if k > 1 or name not in ("recall", "success_rate"):
                    result[f"{name}@{k}"] = self._mean(f"{name}@{k}", self._ks.count(k))
        return result

    def _mean(self, name: str, times: int = 1) -> float:
        """`times` above 1 is a cut-off given repeatedly: added and divided as often (published rules)."""
        values = [v for v in self._columns[name] if v == v]
        if times > 1:
            values = [v for v in values for _ in range(times)]
        total = reduce(operator.add, values, 0.0)  # sum() rounds differently from Python 3.12 on
        for _ in range(times):
            total /= len(values) // times
        return total
