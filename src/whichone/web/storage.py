"""Where answers are kept: SQLite by default, PostgreSQL by a URL."""

import contextlib
import functools
import os
import queue
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, TypeVar

from whichone.errors import BadInput, NewerFormat, UsageError, needs

T = TypeVar("T")
Row = dict[str, Any]


class StorageUnavailable(Exception):
    """The database does not take or give rows now: locked, full, gone. Nothing was kept."""


class Readable(Protocol):
    """A database, or a transaction of one."""

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...


class Transaction(Protocol):
    """SQL with `?` for values, in the dialect that both databases share."""

    skip_locked: str  # What to put behind a select to pass over rows that another transaction is changing

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Runs a statement, says how many rows it changed."""
        ...


def one_at_a_time(t: Transaction, what: str) -> None:
    """Transactions that name the same thing wait for each other, also those of several servers."""
    set_value(t, f"turn {what}", "")


def set_value(t: Transaction, name: str, value: str) -> None:
    t.execute(
        "insert into settings values (?, ?) on conflict (name) do update set value = excluded.value",
        (name, value),
    )


STATES = ("open", "paused", "closed")


def set_state(database: "Database", table: str, of: str, key: str, state: str) -> None:
    database.write(lambda t: t.execute(f"update {table} set state = ? where {of} = ?", (state, key)))


_Work = tuple[Callable[[Transaction], Any], Future[Any]]


class Database(ABC):
    """One thread writes: what waits at one moment is committed together, in the order in which it came."""

    _most_together: int

    def __init__(self) -> None:
        self._waiting: queue.Queue[_Work | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @abstractmethod
    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    @abstractmethod
    def _commit(self, together: list[_Work]) -> None:
        """Gives every future its result or its error, the results when all is on disk."""

    def write(self, work: Callable[[Transaction], T]) -> T:
        """All of the work or nothing of it; when this returns it is on disk."""
        return self.submit(work).result()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """The same without waiting: on disk when the future has its result."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting does not undo it
        self._waiting.put((work, future))
        return future

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            together = [first]
            with contextlib.suppress(queue.Empty):
                while len(together) < self._most_together:
                    if (other := self._waiting.get_nowait()) is None:
                        self._waiting.put(None)
                        break
                    together.append(other)
            self._commit(together)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()


def open_database(url: str) -> Database:
    """`postgresql://...`, `sqlite:///FILE`, or the path of an SQLite file."""
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(url)
    path = url.removeprefix("sqlite:///")
    if "://" in path:
        raise UsageError(
            f"no such kind of database: {url.partition('://')[0]}",
            hint="give postgresql://USER@HOST/NAME, sqlite:///FILE or a file",
        )
    return SqliteDatabase(Path(path))


# The tables of what people and systems gave, in the SQL that SQLite and PostgreSQL share.
VERSION = 2

TABLES = (
    "create table if not exists settings (name text primary key, value text not null)",
    """create table if not exists links (
        link text primary key, label text not null, role text not null, scope text not null,
        person text not null, external text not null, made real not null, expires real not null,
        revoked real)""",
    "create index if not exists links_of on links (scope, external)",
    """create table if not exists studies (
        study text primary key, benchmark text not null, title text not null, plan text not null,
        made real not null, state text not null default 'open')""",
    """create table if not exists study_people (
        study text not null, person text not null, consented real not null, rested integer not null,
        paused real, primary key (study, person))""",
    """create table if not exists study_answers (
        study text not null, person text not null, item integer not null, page text, span text,
        shown real not null, seconds real not null, answered real,
        primary key (study, person, item))""",
    """create table if not exists campaigns (
        campaign text primary key, benchmark text not null, title text not null, plan text not null,
        made real not null, state text not null default 'open')""",
    """create table if not exists tasks (
        campaign text not null, task integer not null, query text not null, content text not null,
        queue integer not null, claimed integer not null, primary key (campaign, task))""",
    "create index if not exists tasks_next on tasks (campaign, queue, claimed desc, task)",
    """create table if not exists annotations (
        campaign text not null, task integer not null, person text not null, claimed real not null,
        content text, seconds real, answered real, queue integer not null,
        primary key (campaign, task, person))""",
    "create index if not exists annotations_of on annotations (campaign, person, answered)",
    """create table if not exists campaign_people (
        campaign text not null, person text not null, consented real not null,
        primary key (campaign, person))""",
    """create table if not exists skipped_tasks (
        campaign text not null, task integer not null, person text not null, skipped real not null,
        primary key (campaign, task, person))""",
    """create table if not exists boards (
        board text primary key, benchmark text not null, title text not null,
        hidden integer not null, made real not null)""",
    """create table if not exists submissions (
        submission text primary key, board text not null, name text not null, person text not null,
        format text not null, state text not null, progress real not null, message text not null,
        result text, made real not null, attempts integer not null default 0,
        about text not null default '{}', shown integer not null default 1)""",
    "create index if not exists submissions_of on submissions (board, made)",
    """create table if not exists upload_parts (
        submission text not null, part integer not null, content blob not null,
        primary key (submission, part))""",
)


def statements(*, postgres: bool) -> list[str]:
    steps = [*TABLES, f"insert into settings values ('schema', '{VERSION}')"]
    if not postgres:
        return steps
    types = ((" real", " double precision"), (" blob", " bytea"), (" integer", " bigint"))
    return [functools.reduce(lambda text, pair: text.replace(*pair), types, sql) for sql in steps]


def check_version(value: str | None) -> None:
    """Whether this server can use a database, by the layout that its settings name."""
    if value != str(VERSION):
        raise NewerFormat(
            f"the database has layout {value or 'unknown'}, this server knows {VERSION}",
            hint="install the whichone that last wrote it, or name another database",
        )


_CONNECTIONS = 4  # more would only wait for each other: the server is one Python process
_TRIES = 5


class _Connected:
    skip_locked = ""  # there is one writer

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def _cursor(self, sql: str, values: Sequence[Any]) -> Any:
        return self._connection.execute(sql, values)

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._cursor(sql, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        return int(self._cursor(sql, values).rowcount)


class _PostgresConnected(_Connected):
    skip_locked = "for update skip locked"

    def _cursor(self, sql: str, values: Sequence[Any]) -> Any:
        """Question marks as psycopg writes them; a per cent sign is doubled, as it would be a mark."""
        return self._connection.execute(sql.replace("%", "%%").replace("?", "%s"), values)


class PostgresDatabase(Database):
    """For many annotators and servers: connections are lent, one that broke is replaced, and work that
    collided is tried again."""

    _most_together = 32

    def __init__(self, url: str) -> None:
        with needs("psycopg", "web"):
            import psycopg
        self._url, self._psycopg = url, psycopg
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        try:
            first = self._connect()
        except psycopg.Error as error:
            raise BadInput(f"the database does not answer: {error}", where="--database") from error
        with first.transaction():
            first.execute("select pg_advisory_xact_lock(7203)")  # two servers may start together
            if first.execute("select to_regclass('settings')").fetchone()[0]:
                row = first.execute("select value from settings where name = 'schema'").fetchone()
                check_version(row[0] if row else None)
            else:
                for sql in statements(postgres=True):
                    first.execute(sql)
        self._idle.put(first)
        for _ in range(_CONNECTIONS - 1):
            self._idle.put(None)
        self._collided = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
        super().__init__()

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
                return _PostgresConnected(connection).read(sql, values)
        except self._psycopg.OperationalError as error:
            raise _unavailable(error) from error

    def _commit(self, together: list[_Work]) -> None:
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
            connected = _PostgresConnected(connection)
            return [work(connected) for work in works]

    def close(self) -> None:
        super().close()
        while not self._idle.empty():
            if (connection := self._idle.get_nowait()) is not None:
                connection.close()


def _unavailable(error: Exception) -> StorageUnavailable:
    text = str(error).strip()
    if "lock" in text or "busy" in text:
        return StorageUnavailable("another program has locked the database")
    if any(sign in text for sign in ("No space left", "full", "disk I/O")):
        return StorageUnavailable("the disk of the database is full or does not answer")
    return StorageUnavailable(
        f"the database does not answer ({text.splitlines()[0] if text else 'no reason'})"
    )


_PATIENCE = 3.0  # Seconds to wait for whoever has locked the file


class SqliteDatabase(Database):
    """One file with many readers: a write-ahead log, synced at every commit."""

    _most_together = 256

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # before SQLite writes; the files that it puts beside have the same mode
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
            self._writer = self._connect()
            self._writer.execute("pragma journal_mode = wal")
            self._create_tables()
        except (sqlite3.Error, OSError) as error:
            raise BadInput(f"cannot be used as a database: {error}", file=path) from error
        super().__init__()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE
        )
        connection.execute("pragma synchronous = full")
        return connection

    def _create_tables(self) -> None:
        self._writer.execute("begin immediate")
        with self._writer:
            if self._writer.execute("select 1 from sqlite_master where name = 'settings'").fetchone():
                row = self._writer.execute("select value from settings where name = 'schema'")
                check_version((row.fetchone() or [None])[0])
            else:
                for sql in statements(postgres=False):
                    self._writer.execute(sql)

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

    def _commit(self, together: list[_Work]) -> None:
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
        super().close()
        for connection in (*self._readers, self._writer):
            connection.close()
