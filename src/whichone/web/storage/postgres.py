"""Answers in PostgreSQL, for many annotators and servers: connections to read, one that writes."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from whichone.errors import BadInput, missing_extra
from whichone.web.storage.database import Row, StorageUnavailable, Transaction
from whichone.web.storage.group_commit import GroupCommit, Work
from whichone.web.storage.schema import VERSION, checked_version, statements

T = TypeVar("T")
_CONNECTIONS = 4  # more would only wait for each other: the server is one Python process
_MOST_TOGETHER = 32
_TRIES = 5


class _Connected:
    skip_locked = "for update skip locked"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(_marked(sql), values)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        return int(self._connection.execute(_marked(sql), values).rowcount)


class PostgresDatabase:
    """Connections are lent; one that broke is replaced, and work that collided is tried again."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing_extra("psycopg", "web") from None
        self._url, self._psycopg = url, psycopg
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        try:
            first = self._connect()
        except psycopg.Error as error:
            raise BadInput(f"the database does not answer: {error}", where="--database") from error
        with first.transaction():
            first.execute("select pg_advisory_xact_lock(7203)")  # two servers may start together
            since = None
            if first.execute("select to_regclass('settings')").fetchone()[0]:
                row = first.execute("select value from settings where name = 'schema'").fetchone()
                since = checked_version(row[0] if row else None)
            if since != VERSION:
                for sql in statements(postgres=True, since=since):
                    first.execute(sql)
        self._idle.put(first)
        for _ in range(_CONNECTIONS - 1):
            self._idle.put(None)
        self._collided = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
        self._group = GroupCommit(self._commit, _MOST_TOGETHER)

    def _connect(self) -> Any:
        return self._psycopg.connect(
            self._url, autocommit=True, connect_timeout=5, options="-c lock_timeout=5000"
        )

    @contextlib.contextmanager
    def _lent(self) -> Iterator[Any]:
        connection = self._idle.get()
        try:
            if connection is None or connection.closed:
                connection = None
                connection = self._connect()
            yield connection
        finally:
            self._idle.put(connection)

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            with self._lent() as connection:
                return _Connected(connection).read(sql, values)
        except self._psycopg.OperationalError as error:
            raise _unavailable(error) from error

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self.submit(work).result()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        return self._group.submit(work)

    def _commit(self, together: list[Work]) -> None:
        """One transaction for all; where a piece fails, each has one of its own."""
        if len(together) > 1:
            try:
                results = self._transaction([work for work, _ in together])
            except self._psycopg.OperationalError as error:
                if not isinstance(error, self._collided):  # who knows how far it came
                    for _, future in together:
                        future.set_exception(_unavailable(error))
                    return
            except Exception:  # of one of them, which raises it again when it is alone
                pass
            else:
                for (_, future), result in zip(together, results, strict=True):
                    future.set_result(result)
                return
        for work, future in together:
            try:
                future.set_result(self._alone(work))
            except self._psycopg.OperationalError as error:
                future.set_exception(_unavailable(error))
            except Exception as error:
                future.set_exception(error)

    def _alone(self, work: Callable[[Transaction], T]) -> T:
        """Tried again when it collided with the work of another server."""
        for _ in range(_TRIES - 1):
            with contextlib.suppress(*self._collided):
                return self._transaction([work])[0]
        return self._transaction([work])[0]

    def _transaction(self, works: list[Callable[[Transaction], T]]) -> list[T]:
        with self._lent() as connection, connection.transaction():
            connected = _Connected(connection)
            return [work(connected) for work in works]

    def close(self) -> None:
        self._group.close()
        while not self._idle.empty():
            connection = self._idle.get_nowait()
            if connection is not None:
                connection.close()


def _unavailable(error: Exception) -> StorageUnavailable:
    text = str(error).strip().splitlines()
    if "lock" in str(error):
        return StorageUnavailable("another program has locked the database")
    if "No space left" in str(error):
        return StorageUnavailable("the disk of the database is full")
    return StorageUnavailable(f"the database does not answer ({text[0] if text else 'no reason'})")


def _marked(sql: str) -> str:
    """Question marks as psycopg writes them; a per cent sign is doubled, as it would be a mark."""
    return sql.replace("%", "%%").replace("?", "%s")
