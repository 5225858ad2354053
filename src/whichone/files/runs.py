"""Sorting more rows than memory has room for: sorted runs on disk, merged by ranges of their first key.

A run is an Arrow file that is mapped, not read. Memory depends on the length of a run and on `RANGE`, not on how many
rows there are.
"""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from whichone.files.mapped import MappedTable, write_mapped
from whichone.files.tables import TableSchema, sort_rows, write_batches, write_table

RANGE = 16_384
"""About so many rows are merged at a time where nobody says otherwise."""
RUN = 262_144
"""Rows of tables that are sorted in memory; where there are more they are sorted in runs of about so many."""

_SAMPLE = 512


def write_run(path: Path, table: pa.Table, schema: TableSchema) -> int:
    """Sort rows that fit in memory and write them, whole or not at all; how many."""
    fitted = table.select(schema.schema.names).cast(schema.schema)
    batches = sort_rows(fitted, schema).combine_chunks().to_batches()
    return write_mapped(path, batches, schema.schema)


def write_merged(path: Path, tables: Iterable[pa.Table], schema: TableSchema) -> int:
    """Write the rows of all tables as one table in key order, sorted on disk where they are many; how many rows."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".runs-") as place:
        runs: list[Path] = []
        held: list[pa.Table] = []
        for table in tables:
            held.append(table)
            if sum(t.num_rows for t in held) >= RUN:
                runs.append(Path(place) / f"{len(runs):05}.arrow")
                write_run(runs[-1], pa.concat_tables(held).combine_chunks(), schema)
                held = []
        rest = pa.concat_tables(held) if held else schema.empty()
        if not runs:
            return write_table(path, rest, schema)
        runs.append(Path(place) / f"{len(runs):05}.arrow")
        write_run(runs[-1], rest.combine_chunks(), schema)
        del held, rest
        batches = (b for table in merged(runs, schema, RUN // 8) for b in table.to_batches())
        return write_batches(path, batches, schema)


def merged(runs: Sequence[Path], schema: TableSchema, rows: int = RANGE) -> Iterator[pa.Table]:
    """The rows of all runs in the order of the key, in tables of about `rows` rows.

    Rows whose first key is equal are in one table, however many they are.
    """
    tables = [table for path in runs if len(table := MappedTable.open(path))]
    places = [0] * len(tables)
    for end in [*_cuts(tables, schema.key[0], rows), None]:
        pieces = []
        for number, table in enumerate(tables):
            start = places[number]
            stop = len(table) if end is None else _lower_bound(table, schema.key[0], end, start)
            if stop > start:
                pieces.append(table.slice(start, stop - start, schema.schema.names))
                places[number] = stop
        if pieces:
            yield sort_rows(pa.concat_tables(pieces).combine_chunks(), schema)


def _cuts(tables: Sequence[MappedTable], column: str, rows: int) -> list[str]:
    """Values of the first key between which there are about so many rows, by a sample."""
    sample = sorted(
        str(table.value(row, column))
        for table in tables
        for row in range(_SAMPLE // 2, len(table), _SAMPLE)
    )
    step = max(rows // _SAMPLE, 1)
    return list(dict.fromkeys(sample[step::step]))


def _lower_bound(table: MappedTable, column: str, value: str, start: int) -> int:
    """The first row, from `start` on, whose value is not below this one."""
    return bisect.bisect_left(
        range(len(table)), value, start, key=lambda row: table.strings([row], column)[0]
    )
