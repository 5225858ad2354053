"""Merging finished parts, and what a knowledge base contains already, into its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from whichone.files.folder import Folder, file_entry
from whichone.files.tables import TableSchema, tables_sql, write_table
from whichone.knowledge.engine.queries import Queries
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


def merge_tables(folder: Folder, work: Sequence[Work], engine: Queries) -> dict[str, int]:
    """Write every table that gets new rows; how many rows each table then has.

    Tables that no other one needs are written beside those that build on each other: these need
    of the pages no more than their index, so that the pages themselves are among the former.
    """
    queries: dict[str, list[str]] = {schema.name: [] for schema in ALL}
    for owner in work:
        alike = (owner.source.kind, owner.parameters)
        owner.siblings = [w for w in work if (w.source.kind, w.parameters) == alike]
        for table, query in owner.source.finish(owner, engine).items():
            queries[table].append(query)
    with (
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

    def __init__(self, folder: Folder, queries: dict[str, list[str]], engine: Queries) -> None:
        self.rows: dict[str, int] = {}
        self._folder, self._queries, self._engine = folder, queries, engine
        self._place = folder.partial.resolve()  # workers of a cluster are in other folders
        self._files: dict[str, list[Path]] = {}
        self._stale = any(queries[name] for name in SOURCES)  # links, page entities, page names

    def key_names(self) -> None:
        """Names with their keys: a Python function, so it is applied outside the engine."""
        if self._queries["names"]:
            keyed = self._place / "keyed.parquet"
            columns = ", ".join(n for n in NAMES.schema.names if n != "key")
            query = f"select {columns} from ({_union(self._queries['names'])})"
            self._engine.keep_mapped(query, _keyed, NAMES.schema, keyed)
            self._queries["names"] = [_select([keyed])]

    def index_pages(self) -> None:
        """What the other tables need to know of the pages."""
        if self._stale:
            queries = [*self._held(PAGES), *self._queries["pages"]]
            query = _union(queries) if queries else None
            index = self._place / "page_index.parquet"
            self._files[PAGE_INDEX] = [index]
            write_page_index(self._engine, index, query, self._files["entities"])

    def derive_names(self) -> None:
        """The names that follow from pages, redirects and links."""
        if self._stale:
            derived = self._place / "derived.parquet"
            self._files["derived"] = [derived]
            write_derived_names(self._engine, derived, self._files)

    def write(self, schema: TableSchema) -> None:
        """Write one table if it has new rows; those that it is resolved by come first."""
        queries, held = self._queries[schema.name], self._held(schema)
        renewed = self._stale and schema.name in RESOLVED
        if schema is NAMES and renewed:
            queries = [*queries, _select(self._files["derived"])]
        if held and not queries and not renewed:
            self._files[schema.name] = self._held_files(schema)
            return
        if held or queries:
            query = resolving(schema.name, _union([*held, *queries]), self._files)
            parts = self._engine.write(query, schema, self._place)
        else:
            write_table(self._place / schema.file, schema.empty(), schema)
            parts = {schema.file: file_entry(self._place / schema.file, 0)}
        self._folder.adopt_parts(schema.name, parts)
        self._files[schema.name] = [self._place / name for name in parts]
        self.rows[schema.name] = sum(entry.rows or 0 for entry in parts.values())

    def _held_files(self, schema: TableSchema) -> list[Path]:
        return [file.resolve() for file in self._folder.parts(schema.name)]

    def _held(self, schema: TableSchema) -> list[str]:
        """What a knowledge base contains already, without the names that are made anew."""
        if self._folder.manifest.files.get(schema.file) is None:
            return []
        select = _select(self._held_files(schema))
        if schema is NAMES and self._stale:
            select = f"{select} where kind not in {DERIVED_KINDS}"
        return [select]


def _union(queries: Sequence[str]) -> str:
    return " union all by name ".join(queries)


def _select(files: Sequence[Path]) -> str:
    return f"select * from {tables_sql(files)}"


def _keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch]).append_column("key", name_keys(batch["name"]))
        yield from table.select(NAMES.schema.names).cast(NAMES.schema).to_batches()
