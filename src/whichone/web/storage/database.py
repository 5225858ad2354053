"""What the rooms ask of a database: rows to read, and work that is committed when it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, TypeVar

from whichone.errors import UsageError

T = TypeVar("T")
Row = dict[str, Any]


class StorageUnavailable(Exception):
    """The database does not take or give rows now: locked, full, gone. Nothing was kept."""


class Readable(Protocol):
    """A database, or a transaction of one."""

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...


class Transaction(Protocol):
    """SQL with `?` for values, in the dialect that both databases share."""

    skip_locked: str
    """What to put behind a select to pass over rows that another transaction is changing."""

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Runs a statement, says how many rows it changed."""
        ...


class Database(Protocol):
    kind: str

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def write(self, work: Callable[[Transaction], T]) -> T:
        """All of the work or nothing of it; when this returns it is on disk."""
        ...

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """The same without waiting: on disk when the future has its result."""
        ...

    def close(self) -> None: ...


def open_database(url: str) -> Database:
    """`postgresql://...`, `sqlite:///FILE`, or the path of an SQLite file."""
    if url.startswith(("postgresql://", "postgres://")):
        from whichone.web.storage.postgres import PostgresDatabase

        return PostgresDatabase(url)
    path = url.removeprefix("sqlite:///")
    if "://" in path:
        raise UsageError(
            f"no such kind of database: {url.partition('://')[0]}",
            hint="give postgresql://USER@HOST/NAME, sqlite:///FILE or a file",
        )
    from whichone.web.storage.sqlite import SqliteDatabase

    return SqliteDatabase(Path(path))
