"""The official KILT scores of a prediction file against a gold file: aligned by id, summed in gold order."""

from __future__ import annotations

import io
import operator
import os
import re
import select
import shutil
import tempfile
import time
from array import array
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import UNSET, Struct, structs, to_builtins

from whichone.errors import BadInput, UsageError, WhichoneError
from whichone.files.lines import NOT_JSON, open_binary, read_lines, write_json_lines
from whichone.files.pools import available_cores, may_be_copied, run_in_order
from whichone.options import takes
from whichone.papers.kilt.kilt_measures import RecordReader, Unreadable, as_id
from whichone.papers.kilt.kilt_scoring import (
    AT_K,
    DOWNSTREAM,
    KILT,
    Flaw,
    Headline,
    KiltSettings,
    PredictionInspector,
    RecordScorer,
    RecordScores,
    SubmissionCheck,
    SubmissionFinding,
    headline,
)

_LEADING_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]*)"\s*[,}]')


class LineIndex:
    """Where each record's line starts; compressed files and pipes are unpacked to a nameless file."""

    def __init__(self, path: str | Path, reader: RecordReader) -> None:
        self.path = str(path)
        self._reader = reader
        self._file = _seekable(path)
        self._starts = array("Q", [0])
        self.number: dict[str, int] = {}  # Line number, from 0, of each id
        self.bad: list[Problem] = []
        end = 0
        starts, number = self._starts, self.number
        try:
            for count, line in enumerate(self._file):
                end += len(line)
                starts.append(end)
                match = _LEADING_ID.match(line)
                record = (
                    match[1].decode().strip() if match and match[1].isascii() else self._slow_id(line, count)
                )
                if record is not None and number.setdefault(record, count) != count:
                    first = number[record] + 1
                    self._refuse(count, record, f"the id occurs twice, first on line {first}")
        except (OSError, EOFError, ValueError) as error:
            raise BadInput(f"cannot be read: {error}", file=self.path, line=len(starts)) from error

    def __len__(self) -> int:
        return len(self.number)

    @property
    def size(self) -> int:
        return self._starts[-1]

    def line(self, number: int) -> bytes:
        start, end = self._starts[number : number + 2]
        return os.pread(self._file.fileno(), end - start, start)

    def close(self) -> None:
        self._file.close()

    def _slow_id(self, line: bytes, count: int) -> str | None:
        try:
            record = self._reader.read(line)
        except Unreadable as error:
            self._refuse(count, None, str(error))
            return None
        if record.id is UNSET:
            self._refuse(count, None, "the record has no id")
            return None
        return as_id(record.id)

    def _refuse(self, count: int, record: str | None, reason: str) -> None:
        self.bad.append(Problem(self.path, count + 1, record, reason))


# Bytes that a pipe may give, seconds between two of them, and seconds for all.
_MOST_PIPED, _SILENCE, _LONGEST_PIPED = 8 << 30, 60.0, 3600.0


def _copy_pipe(path: Path, copy: IO[bytes]) -> None:
    """All that comes through a pipe, whose writer may be late, but not silent or endless."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ready = select.poll()
        ready.register(handle, select.POLLIN)
        size, end = 0, time.monotonic() + _LONGEST_PIPED
        while ready.poll(_SILENCE * 1000):
            if not (piece := os.read(handle, 1 << 20)):
                return
            copy.write(piece)
            size += len(piece)
            if size > _MOST_PIPED or time.monotonic() > end:
                raise BadInput(f"no end after {size:,} bytes of this pipe", file=path)
        raise BadInput(f"nothing came through this pipe for {_SILENCE:g} seconds", file=path)
    finally:
        os.close(handle)


def _seekable(path: str | Path) -> IO[bytes]:
    if Path(path).is_fifo():
        with tempfile.NamedTemporaryFile() as copy:
            _copy_pipe(Path(path), copy)
            copy.flush()
            return _seekable(copy.name)
    stream = open_binary(path)
    if isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO):
        return stream
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the index
    try:
        with stream:
            shutil.copyfileobj(stream, unpacked, 1 << 20)
    except (OSError, EOFError, ValueError) as error:
        unpacked.close()
        raise BadInput(
            f"damaged: {error}", file=path, hint="the file is truncated; fetch or write it again"
        ) from error
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return unpacked


BLOCK = 2_000
WORTH_FORKING = 32 << 20  # Bytes in both files; below, one process is done before a second has started
MOST_WORKERS = 8

NAN = float("nan")

Stretch = Sequence[tuple[str, int]]  # Ids of gold records with the numbers of their lines, from 0


class Problem(Struct, frozen=True):
    """A record that could not be used as it is, where it is stored, and why."""

    file: str
    line: int
    id: str | None
    reason: str
    layout: bool = False


class BlockResult(Struct):
    columns: list[array[float]]
    problems: list[Problem]
    check: SubmissionCheck


class BlockScorer:
    def __init__(self, scorer: RecordScorer, gold: LineIndex, guess: LineIndex) -> None:
        self._scorer, self._gold, self._guess = scorer, gold, guess
        self._inspector = PredictionInspector(scorer)
        self._left_out = [NAN] * len(scorer.settings.names)

    def score(self, stretch: Stretch) -> BlockResult:
        check = SubmissionCheck()
        problems: list[Problem] = []
        rows = [self._row(record, line, check, problems) for record, line in stretch]
        return BlockResult([array("d", column) for column in zip(*rows, strict=True)], problems, check)

    def _row(
        self, record: str, line: int, check: SubmissionCheck, problems: list[Problem]
    ) -> Sequence[float]:
        try:
            gold = self._scorer.gold_reader.read(self._gold.line(line))
        except Unreadable as error:
            problems.append(Problem(self._gold.path, line + 1, record, str(error)))
            return self._left_out
        guess_line = self._guess.number.get(record)
        guess = None
        if guess_line is None:
            reason = f"no prediction for it in {self._guess.path}"
            problems.append(Problem(self._gold.path, line + 1, record, reason))
        else:
            try:
                guess = self._read_guess(record, guess_line)
            except Unreadable as error:
                problems.append(Problem(self._guess.path, guess_line + 1, record, str(error)))
        if self._scorer.settings.check and gold.output is UNSET:
            gold.output = []
            scores = self._scorer.look_at(guess) if guess is not None else RecordScores((), [])
        else:
            scores = self._scorer.score(gold, guess)
        if guess is not None:
            self._inspector.inspect(check, record, gold, guess, scores.pages)
        for side in ("gold", "guess"):
            if flaws := [flaw for flaw in scores.flaws if flaw.side == side]:
                problems.append(self._problem(flaws, record, line, guess_line))
        if scores.row and any(flaw.side == "gold" for flaw in scores.flaws):
            split = len(DOWNSTREAM + KILT)  # no answer, but perhaps evidence
            return [*self._left_out[:split], *scores.row[split:]]
        return scores.row or self._left_out

    def _read_guess(self, record: str, line: int) -> Any:
        guess = self._scorer.guess_reader.read(self._guess.line(line))
        if guess.output is UNSET:
            raise Unreadable("the prediction has no output")
        if guess.id is UNSET or as_id(guess.id) != record:
            raise Unreadable("the record has two ids")
        return guess

    def _problem(self, flaws: Sequence[Flaw], record: str, line: int, guess_line: int | None) -> Problem:
        reason = "; ".join(flaw.reason for flaw in flaws)
        if flaws[0].side == "gold" or guess_line is None:
            return Problem(self._gold.path, line + 1, record, reason)
        return Problem(self._guess.path, guess_line + 1, record, reason, all(flaw.layout for flaw in flaws))


def score_blocks(
    scorer: RecordScorer, gold: LineIndex, guess: LineIndex, workers: int | None = None
) -> Generator[BlockResult, None, None]:
    """Results block by block in gold order, the same whatever the number of workers."""
    records = list(gold.number.items())
    stretches: list[Stretch] = [records[start : start + BLOCK] for start in range(0, len(records), BLOCK)]
    block_scorer = BlockScorer(scorer, gold, guess)
    if workers is None:
        large = gold.size + guess.size >= WORTH_FORKING
        workers = min(available_cores(), MOST_WORKERS) if large else 1
    workers = min(workers, len(stretches)) if may_be_copied() else 1

    def score(number: int) -> BlockResult:
        return block_scorer.score(stretches[number])

    yield from run_in_order(score, range(len(stretches)), workers, copies=True)


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
    findings: list[SubmissionFinding]
    problems: list[Problem]
    ids: list[str]
    # For each record of the gold file its value under each name; NaN where it was left out.
    columns: dict[str, array[float]]

    def rows(self) -> list[dict[str, str | float | None]]:
        rows = zip(self.ids, *self.columns.values(), strict=True)
        return [
            {"id": own, **{n: v if v == v else None for n, v in zip(self.columns, values, strict=True)}}
            for own, *values in rows
        ]

    def document(self, headline: Headline | None = None) -> dict[str, Any]:
        """What `whichone score kilt --json` prints; at most `LISTED` skipped records are named."""
        listed = [
            {"file": p.file, "line": p.line, "id": p.id, "reason": p.reason} for p in self.problems[:LISTED]
        ]
        return {
            **{part: getattr(self, part) for part in ("downstream", "kilt", "retrieval")},
            "headline": None if headline is None else to_builtins(headline),
            "records": self.records,
            "warnings": to_builtins(self.findings),
            "skipped": {"count": len(self.problems), "records": listed},
        }


@takes(KiltSettings, "settings")
def evaluate(gold: str | Path, guess: str | Path, settings: KiltSettings) -> Evaluation:
    """The official scores of `guess` on `gold`."""
    scorer, on_error = RecordScorer(settings), settings.on_error
    with (
        closing(LineIndex(gold, scorer.gold_reader)) as gold_index,
        closing(LineIndex(guess, scorer.guess_reader)) as guess_index,
    ):
        check = SubmissionCheck()
        problems = [*gold_index.bad, *guess_index.bad]
        problems += _extra_predictions(gold_index, guess_index, scorer.guess_reader, check)
        if problems and on_error == "fail":
            raise _error(problems[0])
        if not gold_index.number:
            raise BadInput("there is no record that can be scored", file=gold)
        blocks: list[BlockResult] = []
        with closing(score_blocks(scorer, gold_index, guess_index, settings.workers)) as results:
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
    columns = {
        name: reduce(operator.iadd, (block.columns[n] for block in blocks), array("d"))
        for n, name in enumerate(settings.names)
    }
    means = Means(columns, settings.ks if settings.rules == "published" else settings.cuts)
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


def _extra_predictions(
    gold: LineIndex, guess: LineIndex, reader: RecordReader, check: SubmissionCheck
) -> list[Problem]:
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
        hint=_HINTS.get(problem.reason, "--on-error skip goes on without it and lists what it left out"),
    )


def _has_answers(problems: Sequence[Problem], records: int, on_error: str) -> bool:
    """False when the whole file is what a retriever writes: rankings, none with an answer."""
    rankings = [p for p in problems if p.layout]
    if rankings and len(rankings) < records and on_error == "fail":
        raise _error(rankings[0])
    return len(rankings) < records


class Means(Struct, frozen=True):
    """Means of columns, added up in the order of the gold file as the official programs do."""

    _columns: dict[str, array[float]]
    _ks: Sequence[int]

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


_LOOKED_AT = 200


def signs_of_gold(records: Iterable[Any]) -> frozenset[str]:
    """What gold has and predictions may lack: inputs, several answers, titles and BLEU of evidence, hidden outputs."""
    signs: set[str] = set()
    for record in records:
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("input"), str):
            signs.add("input")
        if "output" not in record:
            signs.add("records without output")
        listed = objects(record.get("output"))
        if sum("answer" in output for output in listed) > 1:
            signs.add("several answers")
        keys = {key for output in listed for entry in objects(output.get("provenance")) for key in entry}
        signs |= {"bleu_score"} & keys
        signs |= {"titles of pages"} if "title" in keys else set()
    return frozenset(signs)


def objects(listed: Any) -> list[dict[str, Any]]:
    """What of a list are JSON objects; nothing where there is no list."""
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def swapped(guess: str | Path, gold: str | Path) -> str | None:
    """Why the files look swapped: the predictions have all that marks gold in the gold file, and more.

    Compressed files and plain ones are looked at; what cannot be read is left to the scorer.
    """
    if Path(guess).is_fifo() or Path(gold).is_fifo():
        return None  # reading would use it up
    theirs, ours = signs_of_gold(_first(guess)), signs_of_gold(_first(gold))
    more = ", ".join(sorted(theirs - ours))
    swapped = f"the files look swapped: {guess} has {more} as gold has, {gold} has not"
    return swapped if theirs > ours else None


def check_order(guess: str | Path, gold: str | Path) -> None:
    """Stops where two files that were named by their order alone look swapped."""
    if reason := swapped(guess, gold):
        raise UsageError(
            reason,
            hint=f"the predictions come first, then the gold: {gold} {guess}; or say which is which "
            f"with --gold and --guess",
        )


def _first(path: str | Path) -> Iterable[Any]:
    for _, line in islice(read_lines(path), _LOOKED_AT):
        try:
            yield msgspec.json.decode(line)
        except NOT_JSON:
            continue


Records = str | Path | Iterable[Mapping[str, Any]]


@takes(KiltSettings, "settings")
def score_kilt(
    guess: Records, gold: Records, settings: KiltSettings, *, any_order: bool = False
) -> dict[str, Any]:
    """The scores of predictions on gold, from files of JSON lines or from records.

    The result is what `whichone score kilt --json` prints: `downstream`, `kilt` and `retrieval` under
    the official names, and beside them `headline`, `records`, `warnings` and `skipped`. Files that look
    swapped are refused unless `any_order` is set.
    """
    with tempfile.TemporaryDirectory() as folder:
        predictions = _file(guess, Path(folder) / "guess")
        wanted = _file(gold, Path(folder) / "gold")
        settings = structs.replace(settings, ks=tuple(settings.ks), rank_keys=tuple(settings.rank_keys))
        try:
            if not any_order:
                check_order(predictions, wanted)
            result = evaluate(wanted, predictions, settings)
        except WhichoneError as error:  # records have no file that a user could open
            error.message = error.message.replace(f"{folder}/", "the records of ")
            error.where = (error.where or "").replace(f"{folder}/", "the records of ") or None
            raise
        return result.document(headline(settings.dataset or None, wanted))


def _file(records: Records, place: Path) -> Path:
    if not isinstance(records, str | Path):
        write_json_lines(place, records)
        return place
    return Path(records)
