"""Answers in one SQLite file: many readers, one writer that commits what came together at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from whichone.errors import BadInput
from whichone.web.storage.database import Row, StorageUnavailable, Transaction
from whichone.web.storage.group_commit import GroupCommit, Work
from whichone.web.storage.schema import VERSION, checked_version, statements

T = TypeVar("T")
_MOST_TOGETHER = 256
_PATIENCE = 3.0
"""Seconds to wait for whoever has locked the file."""


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
            self._bring_up_to_date()
        except (sqlite3.Error, OSError) as error:
            raise BadInput(f"cannot be used as a database: {error}", file=path) from error
        self._group = GroupCommit(self._commit, _MOST_TOGETHER)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE
        )
        connection.execute("pragma synchronous = full")
        return connection

    def _bring_up_to_date(self) -> None:
        """Creates the tables, or migrates them, in one transaction."""
        self._writer.execute("begin immediate")
        try:
            known = self._writer.execute(
                "select 1 from sqlite_master where name = 'settings'"
            ).fetchone()
            since = None
            if known:
                row = self._writer.execute("select value from settings where name = 'schema'")
                since = checked_version((row.fetchone() or [None])[0])
            if since != VERSION:
                for sql in statements(postgres=False, since=since):
                    self._writer.execute(sql)
            self._writer.execute("commit")
        except BaseException:
            self._writer.execute("rollback")
            raise

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        reader = getattr(self._local, "reader", None)
        try:
            if reader is None:
                connection = self._connect()
                self._readers.append(connection)
                reader = self._local.reader = _Connected(connection)
            rows: list[Row] = reader.read(sql, values)
        except sqlite3.OperationalError as error:
            raise _unavailable(error) from error
        return rows

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
                except sqlite3.OperationalError:
                    raise  # of the database itself: nothing that came together is kept
                except Exception as error:
                    self._writer.execute("rollback to one")
                    future.set_exception(error)
                self._writer.execute("release one")
            self._writer.execute("commit")
        except sqlite3.Error as error:
            if self._writer.in_transaction:
                self._writer.execute("rollback")
            failure = _unavailable(error)
            for _, future in together:
                if not future.done():
                    future.set_exception(failure)
            return
        for future, result in done:
            future.set_result(result)

    def close(self) -> None:
        self._group.close()
        for connection in (*self._readers, self._writer):
            connection.close()


def _unavailable(error: sqlite3.Error) -> StorageUnavailable:
    text = str(error)
    if "locked" in text or "busy" in text:
        return StorageUnavailable("another program has locked the database")
    if "full" in text or "disk I/O" in text:
        return StorageUnavailable("the disk of the database is full or does not answer")
    return StorageUnavailable(f"the database does not answer ({text})")
