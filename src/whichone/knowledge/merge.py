"""Merging finished parts, and what a knowledge base holds already, into its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.files.tables import TableSchema, connect, write_query, write_table
from whichone.knowledge.name_keys import name_keys
from whichone.knowledge.parts_work import Work
from whichone.knowledge.resolve import (
    DERIVED_KINDS,
    RESOLVED,
    SOURCES,
    check_pages,
    resolving,
    write_derived_names,
)
from whichone.knowledge.tables import ALL, NAMES, PAGES
from whichone.progress import progress

_BATCH = 65_536
_BY_NAME = {schema.name: schema for schema in ALL}


def merge_tables(folder: Folder, work: Sequence[Work], memory: str) -> dict[str, int]:
    """Write every table that gets new rows; how many rows each table then has.

    Tables that no other one needs are written beside those that build on each other.
    """
    queries: dict[str, list[str]] = {schema.name: [] for schema in ALL}
    for owner in work:
        for table, query in owner.source.finish(owner, memory).items():
            queries[table].append(query)
    merge = _Merge(folder, queries, _half(memory))
    with progress("merging tables", len(ALL), "tables") as advance, ThreadPoolExecutor(1) as beside:
        alone = [beside.submit(merge.key_names)]
        alone += [beside.submit(merge.write, s) for s in ALL if s.name not in (*SOURCES, "names")]
        for name in SOURCES:
            merge.write(_BY_NAME[name])
            advance(1)
        for done in alone:
            done.result()
        advance(len(alone) - 1)
        merge.write(NAMES)
        advance(1)
    return merge.rows


def _half(memory: str) -> str:
    amount = memory.rstrip("BbIiKkMmGgTt ")
    return f"{float(amount) / 2:g}{memory[len(amount) :].strip()}"


class _Merge:
    """The tables of one run: those that are written, and those that are held and stay as they are."""

    def __init__(self, folder: Folder, queries: dict[str, list[str]], memory: str) -> None:
        self.rows: dict[str, int] = {}
        self._folder, self._queries, self._memory = folder, queries, memory
        self._files: dict[str, Path] = {}
        self._stale = any(queries[name] for name in SOURCES)  # links, page entities, page names

    def key_names(self) -> None:
        """Names with their keys: a Python function, so it is applied outside the engine."""
        if self._queries["names"]:
            keyed = self._folder.partial / "keyed.parquet"
            _write_keyed(keyed, " union all by name ".join(self._queries["names"]), self._memory)
            self._queries["names"] = [_select(keyed)]

    def write(self, schema: TableSchema) -> None:
        """Write one table if it has new rows; those that it is resolved by come first."""
        queries, held = self._queries[schema.name], self._folder.manifest.files.get(schema.file)
        renewed = self._stale and schema.name in RESOLVED
        if schema is NAMES and renewed:
            derived = self._folder.partial / "derived.parquet"
            write_derived_names(derived, self._files, self._memory)
            queries = [*queries, _select(derived)]
        if held is not None and not queries and not renewed:
            self._files[schema.name] = self._folder.path(schema.file)
            return
        if held is not None:
            queries = [_held(self._folder, schema, renewed), *queries]
        target = self._files[schema.name] = self._folder.partial / schema.file
        if queries:
            query = resolving(schema.name, " union all by name ".join(queries), self._files)
            count = write_query(target, query, schema, memory=self._memory)
        else:
            count = write_table(target, schema.empty(), schema)
        self._folder.adopt(schema.file, rows=count)
        self.rows[schema.name] = count
        if schema is PAGES and self._queries["pages"]:
            check_pages(target, self._memory)


def _held(folder: Folder, schema: TableSchema, renewed: bool) -> str:
    """What a knowledge base holds already, without the names that are made anew."""
    select = _select(folder.path(schema.file))
    if schema is NAMES and renewed:
        return f"{select} where kind not in {DERIVED_KINDS}"
    return select


def _select(file: Path) -> str:
    return "select * from read_parquet('" + str(file).replace("'", "''") + "')"


def _write_keyed(file: Path, query: str, memory: str) -> None:
    columns = ", ".join(n for n in NAMES.schema.names if n != "key")
    with connect(memory, file.parent) as connection, pq.ParquetWriter(file, NAMES.schema) as writer:
        reader = connection.sql(f"select {columns} from ({query})").to_arrow_reader(_BATCH)
        for batch in _keyed(reader):
            writer.write_batch(batch)


def _keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch]).append_column("key", name_keys(batch["name"]))
        yield from table.select(NAMES.schema.names).cast(NAMES.schema).to_batches()
