"""Merging finished parts, and what a knowledge base holds already, into its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.files.tables import TableSchema, connect, write_query, write_table
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
from whichone.names import name_key
from whichone.progress import progress

_BATCH = 65_536


def merge_tables(folder: Folder, work: Sequence[Work], memory: str) -> dict[str, int]:
    """Write every table that gets new rows; how many rows each table then has."""
    queries: dict[str, list[str]] = {schema.name: [] for schema in ALL}
    for owner in work:
        for table, query in owner.source.finish(owner, memory).items():
            queries[table].append(query)
    if queries["names"]:
        keyed = folder.partial / "keyed.parquet"
        _write_keyed(keyed, " union all by name ".join(queries["names"]), memory)
        queries["names"] = [_select(keyed)]
    rows: dict[str, int] = {}
    files: dict[str, Path] = {}
    stale = any(queries[name] for name in SOURCES)  # links, page entities, names of pages
    with progress("merging tables", len(ALL), "tables") as advance:
        for schema in sorted(ALL, key=_order):
            if schema is NAMES and stale:
                derived = folder.partial / "derived.parquet"
                write_derived_names(derived, files, memory)
                queries["names"].append(_select(derived))
            renewed = stale and schema.name in RESOLVED
            count = _merge(folder, schema, queries[schema.name], files, memory, renewed)
            if schema is PAGES and queries["pages"]:
                check_pages(files["pages"], memory)
            if count is not None:
                rows[schema.name] = count
            advance(1)
    return rows


def _order(schema: TableSchema) -> int:
    """Tables that others are resolved by come first."""
    return SOURCES.index(schema.name) if schema.name in SOURCES else len(SOURCES)


def _merge(
    folder: Folder,
    schema: TableSchema,
    queries: list[str],
    files: dict[str, Path],
    memory: str,
    renewed: bool,
) -> int | None:
    held = folder.manifest.files.get(schema.file)
    if held is not None and not queries and not renewed:
        files[schema.name] = folder.path(schema.file)
        return None
    if held is not None:
        queries = [_held(folder, schema, renewed), *queries]
    target = files[schema.name] = folder.partial / schema.file
    if queries:
        query = resolving(schema.name, " union all by name ".join(queries), files)
        count = write_query(target, query, schema, memory=memory)
    else:
        count = write_table(target, schema.empty(), schema)
    folder.adopt(schema.file, rows=count)
    return count


def _held(folder: Folder, schema: TableSchema, renewed: bool) -> str:
    """What a knowledge base holds already, without the names that are made anew."""
    select = _select(folder.path(schema.file))
    if schema is NAMES and renewed:
        return f"{select} where kind not in {DERIVED_KINDS}"
    return select


def _select(file: Path) -> str:
    return "select * from read_parquet('" + str(file).replace("'", "''") + "')"


def _write_keyed(file: Path, query: str, memory: str) -> None:
    """Names with their keys: a Python function, so it is applied outside the engine."""
    columns = ", ".join(n for n in NAMES.schema.names if n != "key")
    with connect(memory, file.parent) as connection, pq.ParquetWriter(file, NAMES.schema) as writer:
        reader = connection.sql(f"select {columns} from ({query})").to_arrow_reader(_BATCH)
        for batch in _keyed(reader):
            writer.write_batch(batch)


def _keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys = pa.array([name_key(name) for name in batch["name"].to_pylist()], pa.string())
        table = pa.Table.from_batches([batch]).append_column("key", keys)
        yield from table.select(NAMES.schema.names).cast(NAMES.schema).to_batches()
