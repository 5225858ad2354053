"""Scores what waits, one submission after the other, each in a child process within limits.

A submission and its file are in the database before the page says so; what was waiting when a server
died is scored when it starts again, but what ended its process twice is refused.
"""

import contextlib
import os
import tempfile
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec

from whichone.files.pools import forked_context, own_main
from whichone.progress import talk
from whichone.web.boards import submissions
from whichone.web.boards.board import WITHHELD, boards, golds_of, one_board, parts_of, set_marks, withhold
from whichone.web.boards.board_scoring import OUT_OF_MEMORY, Outcome, ScoringJob, main
from whichone.web.served_folder import benchmark_named
from whichone.web.storage import Row, StorageUnavailable, Transaction
from whichone.web.web_site import Site

_TRIES = 2
_LOOK = 5.0  # Seconds after which the served folder is looked through for new runs
_IMPORTED = ("whichone.web.boards.board_scoring",)
_TOO_MUCH = "scoring this file took more memory or time than a submission may use"


class ScoringThread:
    """One thread that scores what waits and puts runs of the served folder on boards."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._wake = threading.Event()
        self._stopping = False
        self._child: BaseProcess | None = None
        self._compare: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="scorer", daemon=True)

    def start(self) -> None:
        self._site.database.write(_resume)
        self._thread.start()
        self.wake()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wake(self, changed: str = "") -> None:
        """There is something to score, or to compare anew on a board whose systems have changed."""
        if changed:
            self._compare.add(changed)
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self.wake()
        if (child := self._child) is not None:
            with contextlib.suppress(ValueError):  # it has just ended
                child.kill()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(_LOOK)
            self._wake.clear()
            try:
                put_runs_on_boards(self._site)
                while not self._stopping and (row := self._next()):
                    self._score(row)
                while self._compare and not self._stopping:
                    self._compare_board(self._compare.pop())
            except StorageUnavailable as error:  # tried again in a moment
                talk(f"scoring waits: {error}")

    def _next(self) -> Row | None:
        rows = self._site.database.read(
            "select submission, board, name, person, format, attempts from submissions "
            "where state = 'waiting' order by made, submission limit 1"
        )
        return rows[0] if rows else None

    def _set(self, row: Row, **values: Any) -> None:
        sql = f"update submissions set {', '.join(f'{name} = ?' for name in values)} where submission = ?"
        self._site.database.write(lambda t: t.execute(sql, (*values.values(), row["submission"])))

    def _score(self, row: Row) -> None:
        attempts = int(row["attempts"]) + 1
        self._set(row, state="scoring", progress=0.05, message="starting", attempts=attempts)
        try:
            with tempfile.TemporaryDirectory() as work:
                outcome = self._outcome(row, Path(work))
        except StorageUnavailable:
            raise
        except Exception as error:
            outcome = Outcome(refused=getattr(error, "message", type(error).__name__))
        if self._stopping and outcome is None:
            self._set(row, state="waiting", attempts=attempts - 1)
        elif outcome is None and attempts < _TRIES:
            self._set(row, state="waiting", message="trying again")
        else:
            self._finish(row, outcome or Outcome(refused=f"{_TOO_MUCH}: refused after {attempts} tries"))

    def _finish(self, row: Row, outcome: Outcome) -> None:
        state = "refused" if outcome.refused else "done"
        format = outcome.format or row["format"]
        board = one_board(self._site, row["board"])
        golds: dict[str, str] = {}
        if board is not None and board["hidden"] and row["person"] != submissions.FOLDER:
            golds = golds_of(self._site, board)

        def work(t: Transaction) -> None:
            message = outcome.refused or outcome.message
            if outcome.refused:
                submissions.count_refused(t, golds.values(), row["person"])
            elif golds:
                withhold(t, golds, row["person"], outcome.parts, self._site.tokens)
                if any(part.get("withheld") for part in outcome.parts):
                    message = f"{message} {WITHHELD}".strip()
            result = msgspec.json.encode({"parts": outcome.parts}).decode()
            t.execute(
                "update submissions set state = ?, progress = 1, message = ?, result = ?, format = ? "
                "where submission = ?",
                (state, message, None if outcome.refused else result, format, row["submission"]),
            )
            submissions.drop_upload(t, row["submission"])
            if not outcome.refused:
                set_marks(t, row["board"], outcome.marks, outcome.better)

        self._site.database.write(work)

    def _outcome(self, row: Row, work: Path) -> Outcome | None:
        """What the child process found; None when it died."""
        settings = self._site.settings
        board = one_board(self._site, row["board"])
        assert board is not None
        served = [benchmark_named(self._site.folder, name) for name in board["benchmarks"]]
        format, _, missing = row["format"].partition("+")
        job: dict[str, Any] = {"format": format, "missing_is_wrong": bool(missing)}
        if format == submissions.ON_DISK:
            if (key := row["submission"].rpartition(":")[2]) not in served[0].runs:
                return Outcome(refused="the run is not in the served folder any more")
            job["run"] = str(served[0].runs[key].folder.root)
        else:
            job["file"] = str(work / "packed")
            submissions.write_upload(self._site.database, row["submission"], work / "packed")
        return self._in_child(
            ScoringJob(
                benchmarks={s.id: str(s.folder.root) for s in served}, work=str(work), key=row["submission"],
                name=row["name"], hidden=bool(board["hidden"]) and format != submissions.ON_DISK,
                unpacked_bytes=settings.unpacked_bytes, memory_bytes=settings.scoring_bytes,
                seconds=settings.scoring_seconds, values=self._values(board), **job,
            ),
            row,
        )  # fmt: skip

    def _in_child(self, job: ScoringJob, row: Row | None) -> Outcome | None:
        work = Path(job.work)
        processes = forked_context(_IMPORTED)
        reports, theirs = processes.Pipe(duplex=False)
        child = processes.Process(target=main, args=(job, dict(os.environ), theirs))
        with own_main():
            child.start()
        theirs.close()
        self._child = child
        if self._stopping:  # since the last look
            child.kill()
        clock = threading.Timer(job.seconds, child.kill)
        clock.start()
        try:
            with reports, contextlib.suppress(EOFError):
                while line := reports.recv_bytes().decode():
                    progress, _, message = line.partition(" ")
                    if row is not None:
                        self._set(row, progress=float(progress), message=message)
            child.join()
            code = child.exitcode or 0
        finally:
            clock.cancel()
            self._child = None
            child.kill()
            child.join()
            child.close()
        result = work / "outcome.json"
        if code == 0 and result.exists():
            return msgspec.json.decode(result.read_bytes(), type=Outcome)
        if code > 0 and code != OUT_OF_MEMORY:
            last = (work / "errors").read_text("utf-8", "replace").strip().splitlines()[-1:]
            talk(f"scoring {job.name} failed: {' '.join(last)}")
            return Outcome(refused="the file could not be scored")
        return None

    def _values(self, board: Row) -> dict[str, dict[str, str]]:
        """The first measure's values of every system that is shown, by kind; a family has no tests."""
        if len(board["benchmarks"]) > 1:
            return {}
        sql = "select submission, result from submissions where board = ? and state = 'done' and shown = 1"
        values: dict[str, dict[str, str]] = {}
        for row in self._site.database.read(sql, (board["board"],)):
            for part in parts_of(row["result"]):
                values.setdefault(part["kind"], {})[f"{row['submission']} {part['kind']}"] = part["values"]
        return values

    def _compare_board(self, key: str) -> None:
        if (board := one_board(self._site, key)) is None or len(board["benchmarks"]) > 1:
            return
        served = benchmark_named(self._site.folder, board["benchmark"])
        with tempfile.TemporaryDirectory() as work:
            place = {served.id: str(served.folder.root)}
            outcome = self._in_child(ScoringJob(place, work, key="", values=self._values(board)), None)
        if outcome is not None:
            self._site.database.write(lambda t: set_marks(t, key, outcome.marks, outcome.better))


def _resume(t: Transaction) -> None:
    """After a server died: what it was scoring waits again, unless it ended a process twice."""
    t.execute(
        "update submissions set state = 'refused', message = ? where state = 'scoring' and attempts >= ?",
        (f"{_TOO_MUCH}: refused after {_TRIES} tries", _TRIES),
    )
    t.execute("update submissions set state = 'waiting' where state = 'scoring'")
    t.execute("delete from submissions where state = 'receiving'")
    t.execute(
        "delete from upload_parts where submission not in "
        "(select submission from submissions where state = 'waiting')"
    )


def put_runs_on_boards(site: Site) -> None:
    rows = site.database.read("select submission from submissions where person = ?", (submissions.FOLDER,))
    known = {row["submission"] for row in rows}
    for board in boards(site):
        served = site.folder.named(board["benchmark"])
        for run in served.runs.values() if served else ():
            if (key := f"{board['board']}:{run.key}") not in known:
                submissions.submit_run(
                    site.database, submission=key, board=board["board"], name=run.name, sees=run.sees
                )
