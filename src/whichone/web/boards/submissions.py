"""Submissions as they are kept: received part by part, waiting, scored or refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO, Any

import msgspec

from whichone.web.storage.database import Database, Row, Transaction

ON_DISK = "run"
"""The format of a run that is stored in the served folder."""
FOLDER = "the served folder"
_PART = 1 << 20
_MOST_WAITING = 3
"""Submissions of one person that may wait at a time."""
_REFUSED_A_DAY = 5
"""How many refused submissions weigh as much as an accepted one in the day's limit."""


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """What whoever submitted a system says about it."""

    team: str = ""
    link: str = ""
    code: str = ""
    sees: str = ""
    cost: str = ""


def submit_run(database: Database, *, submission: str, board: str, name: str, sees: str) -> None:
    """A run of the served folder, to be scored; the same one twice is kept once."""
    about = msgspec.json.encode(About(sees=sees)).decode()
    database.write(
        lambda t: _insert(
            t, (submission, board, name, FOLDER, ON_DISK, "waiting", about, time.time())
        )
    )


def _insert(t: Transaction, values: tuple[Any, ...]) -> None:
    t.execute(
        "insert into submissions (submission, board, name, person, format, state, progress, message, "
        "about, made) values (?, ?, ?, ?, ?, ?, 0, '', ?, ?) on conflict do nothing",
        values,
    )


def submit_file(
    database: Database, *, submission: str, board: str, name: str, person: str, format: str,
    about: About, file: IO[bytes],
) -> int:  # fmt: skip
    """Keeps a file to be scored, a part in memory at a time; how many bytes it has."""
    described = msgspec.json.encode(about).decode()
    row = (submission, board, name, person, format, "receiving", described, time.time())
    database.write(lambda t: _insert(t, row))
    size = part = 0
    while block := file.read(_PART):
        _keep_part(database, (submission, part, block))
        part, size = part + 1, size + len(block)
    if size:
        _set_state(database, submission, "waiting")
    else:
        delete(database, submission)
    return size


def _keep_part(database: Database, values: tuple[str, int, bytes]) -> None:
    database.write(lambda t: t.execute("insert into upload_parts values (?, ?, ?)", values))


def _set_state(database: Database, submission: str, state: str) -> None:
    database.write(
        lambda t: t.execute(
            "update submissions set state = ? where submission = ?", (state, submission)
        )
    )


def write_upload(database: Database, submission: str, out: Path) -> None:
    """The parts of an upload as the file they were."""
    with out.open("wb") as target:
        for part in range(1 << 31):
            rows = database.read(
                "select content from upload_parts where submission = ? and part = ?",
                (submission, part),
            )
            if not rows:
                return
            target.write(rows[0]["content"])


def drop_upload(t: Transaction, submission: str) -> None:
    t.execute("delete from upload_parts where submission = ?", (submission,))


def delete(database: Database, submission: str) -> bool:
    def work(t: Transaction) -> int:
        drop_upload(t, submission)
        return t.execute("delete from submissions where submission = ?", (submission,))

    return bool(database.write(work))


def set_shown(database: Database, submission: str, shown: bool) -> bool:
    return bool(
        database.write(
            lambda t: t.execute(
                "update submissions set shown = ? where submission = ?", (int(shown), submission)
            )
        )
    )


def may_submit(database: Database, person: str, most: int) -> str:
    """Why this person may not submit now; empty when they may. Refused files weigh little."""
    rows = database.read(
        "select state, count(*) as n from submissions where person = ? and made > ? group by state",
        (person, time.time() - 86_400),
    )
    counts = {row["state"]: int(row["n"]) for row in rows}
    refused = counts.pop("refused", 0)
    waiting = counts.get("waiting", 0) + counts.get("scoring", 0)
    if sum(counts.values()) + refused // _REFUSED_A_DAY >= most:
        return "no more submissions today"
    if waiting >= _MOST_WAITING:
        return f"{waiting} of your submissions are waiting: wait until they are scored"
    return ""


def owner_of(database: Database, board: str, name: str) -> str | None:
    """Who first submitted a system of this name to a board."""
    rows = database.read(
        "select person from submissions where board = ? and lower(name) = lower(?) "
        "and state <> 'refused' order by made, submission limit 1",
        (board, name),
    )
    return str(rows[0]["person"]) if rows else None


def one_submission(database: Database, board: str, submission: str) -> Row | None:
    rows = database.read(
        "select submission, board, name, person, format, state, progress, message, made, shown "
        "from submissions where board = ? and submission = ?",
        (board, submission),
    )
    return rows[0] if rows else None


def submissions_of(database: Database, board: str) -> list[Row]:
    """Everything that was submitted to a board, for its moderators."""
    return database.read(
        "select submission, name, person, format, state, message, made, shown from submissions "
        "where board = ? order by made, submission",
        (board,),
    )
