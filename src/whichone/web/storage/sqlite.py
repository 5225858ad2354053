"""Answers in one SQLite file: many readers, one writer that commits what came together at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from whichone.errors import BadInput
from whichone.web.storage.database import Row, Transaction
from whichone.web.storage.group_commit import GroupCommit, Work
from whichone.web.storage.schema import statements

T = TypeVar("T")
_MOST_TOGETHER = 256


class _Connected:
    skip_locked = ""  # there is one writer

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(sql, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(sql, values).rowcount


class SqliteDatabase:
    """Write-ahead log, synced at every commit; writers that wait at one moment share a commit."""

    kind = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            self._writer.execute("pragma journal_mode = wal")
            for sql in statements(postgres=False):
                self._writer.execute(sql)
        except (sqlite3.Error, OSError) as error:
            raise BadInput(f"cannot be used as a database: {error}", file=path) from error
        self._group = GroupCommit(self._commit, _MOST_TOGETHER)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=30
        )
        connection.execute("pragma synchronous = full")
        return connection

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        reader = getattr(self._local, "reader", None)
        if reader is None:
            connection = self._connect()
            self._readers.append(connection)
            reader = self._local.reader = _Connected(connection)
        return reader.read(sql, values)

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self.submit(work).result()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        return self._group.submit(work)

    def _commit(self, together: list[Work]) -> None:
        """One transaction for all; work that fails is undone alone."""
        done: list[tuple[Future[Any], Any]] = []
        connected = _Connected(self._writer)
        try:
            self._writer.execute("begin immediate")
            for work, future in together:
                self._writer.execute("savepoint one")
                try:
                    done.append((future, work(connected)))
                except Exception as error:
                    self._writer.execute("rollback to one")
                    future.set_exception(error)
                self._writer.execute("release one")
            self._writer.execute("commit")
        except sqlite3.Error as error:
            if self._writer.in_transaction:
                self._writer.execute("rollback")
            for _, future in together:
                if not future.done():
                    future.set_exception(error)
            return
        for future, result in done:
            future.set_result(result)

    def close(self) -> None:
        self._group.close()
        for connection in (*self._readers, self._writer):
            connection.close()
