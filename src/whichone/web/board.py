"""Leaderboards: one for a benchmark, whose gold may be hidden from everybody but the server."""

from __future__ import annotations

import time

from whichone.web.storage.database import Database, Row


def hidden_benchmarks(database: Database) -> frozenset[str]:
    """The benchmarks whose queries, answers and pages nobody but an admin is shown."""
    rows = database.read("select benchmark from boards where hidden = 1")
    return frozenset(row["benchmark"] for row in rows)


def make_board(database: Database, board: str, benchmark: str, title: str, *, hidden: bool) -> None:
    database.write(
        lambda t: t.execute(
            "insert into boards values (?, ?, ?, ?, ?)",
            (board, benchmark, title, int(hidden), time.time()),
        )
    )


def boards(database: Database) -> list[Row]:
    return database.read("select * from boards order by made, board")


def one_board(database: Database, board: str) -> Row | None:
    found = database.read("select * from boards where board = ?", (board,))
    return found[0] if found else None
