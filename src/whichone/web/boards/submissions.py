"""Submissions to a leaderboard, scored one after the other in the background.

A submission and its file are in the database before the page says so; what was waiting or half-scored
when a server died is scored when it starts again.
"""

from __future__ import annotations

import base64
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, WhichoneError
from whichone.measures.answer_scores import score_answers
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, cluster_rule, estimate, score_run
from whichone.measures.usual import board_measures, of_papers, usual_measures
from whichone.runs.answers import Answers
from whichone.runs.run import Run
from whichone.web.boards.board import boards, one_board, refresh_marks
from whichone.web.boards.upload_formats import message_for_uploader, read_upload, unpack
from whichone.web.passage_cache import benchmark_named
from whichone.web.site import Site
from whichone.web.storage.database import Database, Row

KILT_LIKE = {
    "em": ("kilt_em",),
    "f1": ("kilt_f1",),
    "accuracy": ("kilt_accuracy",),
    "rouge_l": ("kilt_rouge_l",),
}
ON_DISK = "run"
"""The format of a run that lies in the served folder."""


def submit(
    database: Database, *, submission: str, board: str, name: str, person: str, format: str,
    content: bytes | None,
) -> None:  # fmt: skip
    """Keeps a file to be scored; the same submission twice is kept once."""
    database.write(
        lambda t: t.execute(
            "insert into submissions values (?, ?, ?, ?, ?, 'waiting', 0, '', null, ?, ?) "
            "on conflict do nothing",
            (submission, board, name, person, format, content, time.time()),
        )
    )


def submitted_today(database: Database, person: str) -> int:
    rows = database.read(
        "select count(*) as n from submissions where person = ? and made > ?",
        (person, time.time() - 86_400),
    )
    return int(rows[0]["n"])


def one_submission(database: Database, board: str, submission: str) -> Row | None:
    found = database.read(
        "select submission, board, name, format, state, progress, message, made from submissions "
        "where board = ? and submission = ?",
        (board, submission),
    )
    return found[0] if found else None


class Scorer:
    """One thread that scores what waits."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="scorer", daemon=True)

    def start(self) -> None:
        self._site.database.write(
            lambda t: t.execute("update submissions set state = 'waiting' where state = 'scoring'")
        )
        self._thread.start()
        self.wake()

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self.wake()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait()
            self._wake.clear()
            while not self._stopping and (row := self._next()):
                self._score(row)

    def _next(self) -> Row | None:
        rows = self._site.database.read(
            "select * from submissions where state = 'waiting' order by made, submission limit 1"
        )
        return rows[0] if rows else None

    def _tell(self, row: Row, state: str, progress: float, message: str = "", result: str | None = None) -> None:  # fmt: skip
        self._site.database.write(
            lambda t: t.execute(
                "update submissions set state = ?, progress = ?, message = ?, result = ? "
                "where submission = ?",
                (state, progress, message, result, row["submission"]),
            )
        )

    def _score(self, row: Row) -> None:
        try:
            self._tell(row, "scoring", 0.1, "unpacking")
            board = one_board(self._site.database, row["board"])
            assert board is not None
            benchmark = benchmark_named(self._site.folder, board["benchmark"]).open()
            with tempfile.TemporaryDirectory() as temporary:
                result = self._result(row, benchmark, Path(temporary))
            message = " ".join(filter(None, (part.pop("left_out") for part in result["parts"])))
            self._tell(row, "done", 1.0, message, msgspec.json.encode(result).decode())
            refresh_marks(self._site.database, row["board"], benchmark.queries)
        except WhichoneError as error:
            self._tell(row, "refused", 1.0, error.message)
        except Exception as error:
            self._tell(row, "refused", 1.0, f"scoring failed ({type(error).__name__})")

    def _result(self, row: Row, benchmark: Benchmark, work: Path) -> dict[str, Any]:
        if row["format"] == ON_DISK:
            served = benchmark_named(self._site.folder, benchmark.id)
            key = row["submission"].rpartition(":")[2]
            if key not in served.runs:
                raise BadInput("the run is not in the served folder any more")
            read: list[Run | Answers] = [Run(served.runs[key].folder)]
        else:
            (work / "packed").write_bytes(row["content"])
            unpack(work / "packed", work / "file", self._site.settings.unpacked_bytes)
            self._tell(row, "scoring", 0.3, "reading")
            format, _, missing = row["format"].partition("+")
            try:
                read = read_upload(
                    work / "file", work, benchmark, format=format, name=row["name"],
                    missing_is_wrong=bool(missing),
                )  # fmt: skip
            except BadInput as error:
                raise BadInput(message_for_uploader(error, work / "file")) from error
        self._tell(row, "scoring", 0.6, "scoring")
        return {"parts": [scored(part, benchmark) for part in read]}


def scored(read: Run | Answers, benchmark: Benchmark) -> dict[str, Any]:
    """Every measure with its interval, and the first measure's value of each query, packed."""
    if isinstance(read, Run):
        measures = parse_measures(board_measures(benchmark))
        scores: Scores = score_run(read, benchmark, measures)
    else:
        scores = score_answers(read, benchmark, parse_measures(answer_measures(read, benchmark)))
    every = np.arange(len(scores.queries))
    first = scores.values[str(scores.measures[0])].astype(np.float32)
    return {
        "kind": "rankings" if isinstance(read, Run) else "answers",
        "measures": {str(m): estimate(scores, m, every) for m in scores.measures},
        "values": base64.b64encode(first.tobytes()).decode(),
        "counts": {"queries": len(scores.queries), "failures": len(read.failures)},
        "left_out": _left_out(read, len(scores.queries)),
        "resampled": cluster_rule(scores.queries),
    }


def _left_out(read: Run | Answers, queries: int) -> str:
    """What of an upload counts as wrong, in words for whoever submitted it."""
    sentences = []
    if read.failures:
        what = "ranking" if isinstance(read, Run) else "answer"
        sentences.append(f"{len(read.failures):,} of {queries:,} queries have no {what}.")
    if skipped := read.folder.manifest.counts.get("skipped"):
        first = read.folder.manifest.made.get("left_out", "")
        sentences.append(f"{skipped:,} results were left out, the first: {first}.")
    return " ".join(sentences)


def answer_measures(answers: Answers, benchmark: Benchmark) -> list[str]:
    """The usual ones; where answers say which pages they rest on, KILT's beside their like."""
    usual = list(dict.fromkeys([*usual_measures(benchmark), *of_papers(benchmark, "answers")]))
    if not any(a.passages for a in answers.answers.values()):
        return usual
    return [name for m in usual for name in (m, *KILT_LIKE.get(m, ()))]


def put_runs_on_boards(site: Site, board: str | None = None) -> None:
    """Rows for the runs that lie in the served folder."""
    for row in boards(site.database):
        if board is not None and row["board"] != board:
            continue
        known = {
            r["submission"]
            for r in site.database.read(
                "select submission from submissions where board = ? and format = ?",
                (row["board"], ON_DISK),
            )
        }
        for served in site.folder.benchmarks().values():
            if served.id != row["benchmark"]:
                continue
            for run in served.runs.values():
                key = f"{row['board']}:{run.key}"
                if key not in known:
                    submit(site.database, submission=key, board=row["board"], name=run.name,
                           person="the served folder", format=ON_DISK, content=None)  # fmt: skip
