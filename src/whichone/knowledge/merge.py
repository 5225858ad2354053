"""Merging finished parts, and what a knowledge base contains already, into its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.files.tables import TableSchema, connect, sql_text, write_query, write_table
from whichone.knowledge.name_keys import name_keys
from whichone.knowledge.parts_work import Work
from whichone.knowledge.resolve import (
    DERIVED_KINDS,
    PAGE_INDEX,
    RESOLVED,
    SOURCES,
    resolving,
    write_derived_names,
    write_page_index,
)
from whichone.knowledge.tables import ALL, ENTITIES, LINKS, NAMES, PAGES, REDIRECTS
from whichone.progress import progress

_BATCH = 65_536


def merge_tables(folder: Folder, work: Sequence[Work], memory: str) -> dict[str, int]:
    """Write every table that gets new rows; how many rows each table then has.

    Tables that no other one needs are written beside those that build on each other: these need
    of the pages no more than their index, so that the pages themselves are among the former.
    """
    queries: dict[str, list[str]] = {schema.name: [] for schema in ALL}
    for owner in work:
        alike = (owner.source.kind, owner.parameters)
        owner.siblings = [w for w in work if (w.source.kind, w.parameters) == alike]
        for table, query in owner.source.finish(owner, memory).items():
            queries[table].append(query)
    with (
        connect(memory, folder.partial) as engine,
        progress("merging tables", len(ALL), "tables") as advance,
        ThreadPoolExecutor(1) as beside,
    ):
        merge = _Merge(folder, queries, engine)
        keyed = beside.submit(merge.key_names)
        others = [schema for schema in ALL if schema.name not in (*SOURCES, "names")]
        alone = [beside.submit(merge.write, schema) for schema in others]
        merge.write(ENTITIES)
        merge.index_pages()
        alone.append(beside.submit(merge.write, PAGES))
        for schema in (REDIRECTS, LINKS):
            merge.write(schema)
        merge.derive_names()
        keyed.result()
        merge.write(NAMES)
        advance(len(ALL) - len(alone))
        for done in alone:
            done.result()
            advance(1)
    return merge.rows


class _Merge:
    """The tables of one run: those that are written, and those that are held and stay as they are."""

    def __init__(self, folder: Folder, queries: dict[str, list[str]], engine: Any) -> None:
        self.rows: dict[str, int] = {}
        self._folder, self._queries, self._engine = folder, queries, engine
        self._files: dict[str, Path] = {}
        self._stale = any(queries[name] for name in SOURCES)  # links, page entities, page names

    def key_names(self) -> None:
        """Names with their keys: a Python function, so it is applied outside the engine."""
        if self._queries["names"]:
            keyed = self._folder.partial / "keyed.parquet"
            with self._engine.cursor() as engine:
                _write_keyed(engine, keyed, _union(self._queries["names"]))
            self._queries["names"] = [_select(keyed)]

    def index_pages(self) -> None:
        """What the other tables need to know of the pages."""
        if self._stale:
            queries = [*self._held(PAGES), *self._queries["pages"]]
            query = _union(queries) if queries else None
            index = self._files[PAGE_INDEX] = self._folder.partial / "page_index.parquet"
            with self._engine.cursor() as engine:
                write_page_index(engine, index, query, self._files["entities"])

    def derive_names(self) -> None:
        """The names that follow from pages, redirects and links."""
        if self._stale:
            derived = self._files["derived"] = self._folder.partial / "derived.parquet"
            with self._engine.cursor() as engine:
                write_derived_names(engine, derived, self._files)

    def write(self, schema: TableSchema) -> None:
        """Write one table if it has new rows; those that it is resolved by come first."""
        queries, held = self._queries[schema.name], self._held(schema)
        renewed = self._stale and schema.name in RESOLVED
        if schema is NAMES and renewed:
            queries = [*queries, _select(self._files["derived"])]
        if held and not queries and not renewed:
            self._files[schema.name] = self._folder.path(schema.file)
            return
        target = self._files[schema.name] = self._folder.partial / schema.file
        if held or queries:
            query = resolving(schema.name, _union([*held, *queries]), self._files)
            with self._engine.cursor() as engine:
                count = write_query(engine, target, query, schema)
        else:
            count = write_table(target, schema.empty(), schema)
        self._folder.adopt(schema.file, rows=count)
        self.rows[schema.name] = count

    def _held(self, schema: TableSchema) -> list[str]:
        """What a knowledge base contains already, without the names that are made anew."""
        if self._folder.manifest.files.get(schema.file) is None:
            return []
        select = _select(self._folder.path(schema.file))
        if schema is NAMES and self._stale:
            select = f"{select} where kind not in {DERIVED_KINDS}"
        return [select]


def _union(queries: Sequence[str]) -> str:
    return " union all by name ".join(queries)


def _select(file: Path) -> str:
    return f"select * from read_parquet({sql_text(file)})"


def _write_keyed(engine: Any, file: Path, query: str) -> None:
    columns = ", ".join(n for n in NAMES.schema.names if n != "key")
    with pq.ParquetWriter(file, NAMES.schema) as writer:
        for batch in _keyed(engine.sql(f"select {columns} from ({query})").to_arrow_reader(_BATCH)):
            writer.write_batch(batch)


def _keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch]).append_column("key", name_keys(batch["name"]))
        yield from table.select(NAMES.schema.names).cast(NAMES.schema).to_batches()
