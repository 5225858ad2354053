"""Scores stretches of the gold file, side by side in forked processes where that is safe."""

from __future__ import annotations

import gc
import os
import sys
from array import array
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct

from whichone.papers.kilt.scores.alignment import LineIndex
from whichone.papers.kilt.scores.records import Unreadable, as_id
from whichone.papers.kilt.scores.scoring import DOWNSTREAM, KILT, Flaw, RecordScorer, RecordScores
from whichone.papers.kilt.scores.submission import PredictionInspector, SubmissionCheck

BLOCK = 2_000
WORTH_FORKING = 32 << 20
"""Bytes in both files; below, one process is done before a second has started."""
MOST_WORKERS = 8

NAN = float("nan")

Stretch = Sequence[tuple[str, int]]
"""Ids of gold records with the numbers of their lines, from 0."""


class Problem(Struct, frozen=True):
    """A record that could not be used as it is, where it is stored, and why."""

    file: str
    line: int
    id: str | None
    reason: str
    layout: bool = False


class BlockResult(Struct):
    """Columns of scores of a stretch of gold records, in gold order."""

    columns: list[array[float]]
    problems: list[Problem]
    check: SubmissionCheck


class BlockScorer:
    """Scores gold records by their place in the file."""

    def __init__(self, scorer: RecordScorer, gold: LineIndex, guess: LineIndex) -> None:
        self._scorer = scorer
        self._gold = gold
        self._guess = guess
        self._inspector = PredictionInspector(scorer)
        self._width = len(scorer.settings.names)

    def score(self, stretch: Stretch) -> BlockResult:
        check = SubmissionCheck()
        problems: list[Problem] = []
        rows = [self._row(record, line, check, problems) for record, line in stretch]
        columns = [array("d", column) for column in zip(*rows, strict=True)]
        return BlockResult(columns, problems, check)

    def _row(
        self, record: str, line: int, check: SubmissionCheck, problems: list[Problem]
    ) -> Sequence[float]:
        try:
            gold = self._scorer.gold_reader.read(self._gold.line(line))
        except Unreadable as error:
            problems.append(Problem(self._gold.path, line + 1, record, str(error)))
            return self._left_out()
        guess_line = self._guess.number.get(record)
        guess = None
        if guess_line is None:
            reason = f"no prediction for it in {self._guess.path}"
            problems.append(Problem(self._gold.path, line + 1, record, reason))
        else:
            guess = self._read_guess(record, guess_line, problems)
        if self._scorer.settings.without_gold and gold.output is UNSET:
            gold.output = []
            scores = self._scorer.look_at(guess) if guess is not None else RecordScores((), [])
        else:
            scores = self._scorer.score(gold, guess)
        if guess is not None:
            self._inspector.inspect(check, record, gold, guess, scores.pages)
        if not scores.flaws:
            return scores.row or self._left_out()
        for side in ("gold", "guess"):
            if flaws := [flaw for flaw in scores.flaws if flaw.side == side]:
                problems.append(self._problem(flaws, record, line, guess_line))
        return self._without_bad_gold(scores.row, scores.flaws)

    def _read_guess(self, record: str, line: int, problems: list[Problem]) -> Any | None:
        try:
            guess = self._scorer.guess_reader.read(self._guess.line(line))
        except Unreadable as error:
            reason = str(error)
        else:
            if guess.output is UNSET:
                reason = "the prediction has no output"
            elif guess.id is UNSET or as_id(guess.id) != record:
                reason = "the record has two ids"
            else:
                return guess
        problems.append(Problem(self._guess.path, line + 1, record, reason))
        return None

    def _problem(
        self, flaws: Sequence[Flaw], record: str, line: int, guess_line: int | None
    ) -> Problem:
        reason = "; ".join(flaw.reason for flaw in flaws)
        if flaws[0].side == "guess" and guess_line is not None:
            layout = all(flaw.layout for flaw in flaws)
            return Problem(self._guess.path, guess_line + 1, record, reason, layout)
        return Problem(self._gold.path, line + 1, record, reason)

    def _without_bad_gold(self, row: Sequence[float], flaws: Sequence[Flaw]) -> Sequence[float]:
        """Bad gold is left out of the means; a bad prediction keeps its zeros."""
        if not row:
            return self._left_out()
        if any(flaw.side == "gold" for flaw in flaws):  # it has no answer, but perhaps evidence
            split = len(DOWNSTREAM + KILT)
            return [*self._left_out()[:split], *row[split:]]
        return row

    def _left_out(self) -> list[float]:
        return [NAN] * self._width


def score_blocks(
    scorer: RecordScorer, gold: LineIndex, guess: LineIndex, workers: int | None = None
) -> Generator[BlockResult, None, None]:
    """Results block by block in gold order, the same whatever the number of workers."""
    records = list(gold.number.items())
    stretches: list[Stretch] = [
        records[start : start + BLOCK] for start in range(0, len(records), BLOCK)
    ]
    block_scorer = BlockScorer(scorer, gold, guess)
    if workers is None:
        large = gold.size + guess.size >= WORTH_FORKING
        workers = min(len(os.sched_getaffinity(0)), MOST_WORKERS) if large and _can_fork() else 1
    if workers < 2 or len(stretches) < 2 or not _can_fork():
        yield from map(block_scorer.score, stretches)
        return
    with ProcessPoolExecutor(
        workers,
        mp_context=get_context("fork"),  # the children inherit the index, nothing is copied
        initializer=_inherit,
        initargs=(block_scorer, stretches),
    ) as pool:
        yield from pool.map(_score_inherited, range(len(stretches)))


def _can_fork() -> bool:
    """Only on Linux, and only where a fork cannot cut another thread in half."""
    return sys.platform.startswith("linux") and len(list(Path("/proc/self/task").iterdir())) == 1


_inherited: tuple[BlockScorer, list[Stretch]] | None = None


def _inherit(scorer: BlockScorer, stretches: list[Stretch]) -> None:
    global _inherited
    gc.disable()  # a short life without cycles
    _inherited = scorer, stretches


def _score_inherited(number: int) -> BlockResult:
    assert _inherited is not None
    scorer, stretches = _inherited
    return scorer.score(stretches[number])
