"""Who runs the queries of a merge, written in DuckDB's SQL: DuckDB here, or Spark on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow.parquet as pq

from whichone.files.folder import file_entry
from whichone.files.manifest import FileEntry
from whichone.files.tables import TableSchema, connect, query_batches, sql_text, write_parts

if TYPE_CHECKING:
    import pyarrow as pa

    from whichone.knowledge.engine.engines import BatchWork

_BATCH = 65_536


class Queries(Protocol):
    """Runs queries whose rows are read from Parquet by `read_parquet`; may be used by several threads."""

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that has few."""

    def keep(self, query: str, file: Path) -> None:
        """Write the rows of a query, for other queries to read, in any order."""

    def keep_mapped(self, query: str, work: BatchWork, schema: pa.Schema, file: Path) -> None:
        """The same for what Python makes of the rows."""

    def keep_closure(self, name: str, base: str, step: str, file: Path) -> None:
        """The same for all rows that follow from those of `base` by `step`, which reads `name`."""

    def write(self, query: str, schema: TableSchema, folder: Path) -> dict[str, FileEntry]:
        """Write the rows of a query as a table in the order of its key, cut into parts."""


class DuckdbQueries:
    """DuckDB with bounded memory."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            rows: list[tuple[Any, ...]] = cursor.sql(query).fetchall()
            return rows

    def keep(self, query: str, file: Path) -> None:
        remove(file)
        with self._connection.cursor() as cursor:
            cursor.execute(f"copy ({query}) to {sql_text(file)} (format parquet)")

    def keep_mapped(self, query: str, work: BatchWork, schema: pa.Schema, file: Path) -> None:
        remove(file)
        with self._connection.cursor() as cursor, pq.ParquetWriter(file, schema) as writer:
            for batch in work(cursor.sql(query).to_arrow_reader(_BATCH)):
                writer.write_batch(batch)

    def keep_closure(self, name: str, base: str, step: str, file: Path) -> None:
        self.keep(f"with recursive {name} as ({base} union {step}) select * from {name}", file)

    def write(self, query: str, schema: TableSchema, folder: Path) -> dict[str, FileEntry]:
        with self._connection.cursor() as cursor:
            batches = query_batches(cursor, query, schema)
            parts = list(write_parts(folder, batches, schema))
        return {name: file_entry(folder / name, rows) for name, rows in parts}


@contextmanager
def duckdb_queries(memory: str, spill: Path) -> Iterator[Queries]:
    with connect(memory, spill) as connection:
        yield DuckdbQueries(connection)


def remove(file: Path) -> None:
    """What a killed run of either engine left: a file, or a folder of files."""
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
