"""Answers in PostgreSQL, for many annotators: a few connections, one transaction for each write."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from whichone.errors import BadInput, missing_extra
from whichone.web.storage.database import Row, Transaction
from whichone.web.storage.schema import statements

T = TypeVar("T")
_CONNECTIONS = 10
_TRIES = 5


class _Connected:
    skip_locked = "for update skip locked"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s"), values)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        return int(self._connection.execute(sql.replace("?", "%s"), values).rowcount)


class PostgresDatabase:
    """Connections are lent; one that broke is replaced, and work that collided is tried again."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing_extra("psycopg", "web") from None
        self._url, self._psycopg = url, psycopg
        self._threads = ThreadPoolExecutor(_CONNECTIONS, "postgres")
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        try:
            first = self._connect()
        except psycopg.Error as error:
            raise BadInput(f"the database does not answer: {error}", where="--database") from error
        with first.transaction():
            first.execute("select pg_advisory_xact_lock(7203)")  # two servers may start together
            for sql in statements(postgres=True):
                first.execute(sql)
        self._idle.put(first)
        for _ in range(_CONNECTIONS - 1):
            self._idle.put(None)

    def _connect(self) -> Any:
        return self._psycopg.connect(self._url, autocommit=True)

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
        with self._lent() as connection:
            return _Connected(connection).read(sql, values)

    def write(self, work: Callable[[Transaction], T]) -> T:
        collided = (
            self._psycopg.errors.SerializationFailure,
            self._psycopg.errors.DeadlockDetected,
        )
        for tried in range(_TRIES):
            try:
                with self._lent() as connection, connection.transaction():
                    return work(_Connected(connection))
            except collided:
                if tried == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        return self._threads.submit(self.write, work)

    def close(self) -> None:
        self._threads.shutdown()
        while not self._idle.empty():
            connection = self._idle.get_nowait()
            if connection is not None:
                connection.close()
