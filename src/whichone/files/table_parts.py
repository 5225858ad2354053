"""Tables of many rows, cut into files of `PART` rows: the first has the table's name, the others a number beside it."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from whichone.files.tables import ROW_GROUP, TableSchema, fixed_groups, write_groups

PART = 16 * ROW_GROUP
"""Rows of a file; a worker writes one without knowing the others."""


def part_name(table: str, number: int) -> str:
    return f"{table}-{number:05}.parquet" if number else f"{table}.parquet"


def part_names(table: str, files: Container[str]) -> list[str]:
    """The files of a table among those of a folder, in the order of its rows."""
    names = (part_name(table, number) for number in itertools.count())
    return list(itertools.takewhile(files.__contains__, names))


def write_parts(
    folder: Path, batches: Iterable[pa.RecordBatch], schema: TableSchema
) -> Iterator[tuple[str, int]]:
    """Write batches that are in key order; each file's name and rows, at least one."""
    groups = iter(fixed_groups(batches, schema.schema, ROW_GROUP))
    for number in itertools.count():
        first = list(itertools.islice(groups, 1))
        if number and not first:
            return
        part = itertools.chain(first, itertools.islice(groups, PART // ROW_GROUP - 1))
        name = part_name(schema.name, number)
        yield name, write_groups(folder / name, part, schema)
