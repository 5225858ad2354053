"""The one writer of tables: sorted by a total key, in fixed row groups, with pinned compression.

Same rows, same bytes, whatever engine or number of workers made them.
"""

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput, BrokenFolder, Missing
from whichone.files.output import out_of_room, written_beside
from whichone.options import DEFAULT_MEMORY


class _PandasWhenAsked:
    """Arrow looks for pandas, which takes longer to import than most commands take, at its first Python list.

    It finds none, and looks again as soon as somebody imports it.
    """

    hidden = True

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            if self.hidden:
                raise ModuleNotFoundError(name)
            sys.meta_path.remove(self)
            pa.lib._pandas_api.__init__()


if "pandas" not in sys.modules:
    sys.meta_path.insert(0, asked := _PandasWhenAsked())
    pa.array([])
    asked.hidden = False

ROW_GROUP = 65_536
SORTED_IN_MEMORY = (
    ROW_GROUP  # Rows that are sorted without DuckDB: its start alone takes as long as a small `score`
)
_SORTING_MEMORY = "500MB"


@dataclass(frozen=True)
class TableSchema:
    """A table's name, its columns, and the columns that order its rows without ties."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]

    @classmethod
    def of(cls, name: str, key: tuple[str, ...], *columns: tuple[str, pa.DataType]) -> Self:
        return cls(name, pa.schema(columns), key)

    @property
    def file(self) -> str:
        return f"{self.name}.parquet"

    def empty(self) -> pa.Table:
        return self.schema.empty_table()

    def from_rows(self, rows: Sequence[Mapping[str, object]]) -> pa.Table:
        return self.from_columns({f.name: [row.get(f.name) for row in rows] for f in self.schema})

    def from_columns(self, columns: Mapping[str, Sequence[object]]) -> pa.Table:
        return pa.Table.from_arrays([array_of(columns[f.name], f) for f in self.schema], schema=self.schema)


def array_of(values: Sequence[object], field: pa.Field) -> pa.Array:
    """One column; a value that no table can contain is named."""
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError) as error:
        for value in values:
            try:
                pa.array([value], field.type)
            except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
                shown = ascii(value)
                raise BadInput(
                    f"{field.name} cannot be {shown[:80]}: {str(error).splitlines()[0]}",
                    hint="a text must be valid Unicode, a number must fit into 64 bits",
                ) from error
        raise


def sort_rows(table: pa.Table, schema: TableSchema) -> pa.Table:
    import pyarrow.compute as pc  # takes longer to import than most tables to read

    order = pc.sort_indices(table, sort_keys=[(column, "ascending") for column in schema.key])
    return table if np.array_equal(order, np.arange(len(order))) else table.take(order)


def in_key_order(
    rows: pa.Table | Iterable[pa.RecordBatch], schema: TableSchema, near: Path | None = None
) -> Iterator[pa.RecordBatch]:
    """Rows that come in any order, in the order of the key; DuckDB sorts many of them in files in the folder `near`.

    A mapped table is read in place; batches are first written to a file, as DuckDB would call their generator from
    threads of its own.
    """
    given = iter(rows.to_batches() if isinstance(rows, pa.Table) else rows)
    held, count = list[pa.RecordBatch](), 0
    while count <= SORTED_IN_MEMORY and (batch := next(given, None)) is not None:
        held.append(batch)
        count += batch.num_rows
    if count <= SORTED_IN_MEMORY:
        table = pa.Table.from_batches(held, schema.schema).combine_chunks()
        yield from sort_rows(table, schema).combine_chunks().to_batches()
        return
    with tempfile.TemporaryDirectory(dir=near, prefix=".sorting-") as place:
        if not isinstance(rows, pa.Table):
            file = f"{place}/rows.arrow"
            with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, schema.schema) as writer:
                for batch in itertools.chain(held, given):
                    writer.write_batch(batch)
            held, rows = [], pa.ipc.open_file(pa.memory_map(file)).read_all()
        with connect(_SORTING_MEMORY, Path(place)) as connection:
            connection.register("given", rows)
            yield from query_batches(connection, "select * from given", schema)


def write_table(path: Path, table: pa.Table, schema: TableSchema) -> int:
    """Sort a table that fits in memory and write it; how many rows."""
    fitted = table.select(schema.schema.names).cast(schema.schema)
    return write_batches(path, sort_rows(fitted, schema).combine_chunks().to_batches(), schema)


def write_batches(path: Path, batches: Iterable[pa.RecordBatch], schema: TableSchema) -> int:
    """Write batches that are already in key order, recut into fixed row groups; how many rows."""
    return write_groups(path, fixed_groups(batches, schema.schema, ROW_GROUP), schema)


def write_groups(path: Path, groups: Iterable[pa.Table], schema: TableSchema) -> int:
    count = 0
    with (
        written_beside(path) as beside,
        pq.ParquetWriter(
            beside, schema.schema, version="2.6", compression="zstd", compression_level=3
        ) as writer,
    ):
        for group in groups:
            writer.write_table(group, row_group_size=ROW_GROUP)
            count += group.num_rows
    return count


def fixed_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int) -> Iterator[pa.Table]:
    """The same rows in tables of `size` rows, the last one shorter."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        while rows >= size:
            table = pa.Table.from_batches(held, schema=schema)
            yield table.slice(0, size).combine_chunks()
            held = table.slice(size).to_batches()
            rows -= size
    if rows:
        yield pa.Table.from_batches(held, schema=schema).combine_chunks()


def sql_text(value: str | Path) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def tables_sql(files: Iterable[Path]) -> str:
    return f"read_parquet([{', '.join(map(sql_text, files))}])"


def columns_sql(schema: TableSchema, alias: str, **replaced: str) -> str:
    """All columns of a table, some of them replaced; written out, for not every engine can replace."""
    own = {name: f'{alias}."{name}"' for name in schema.schema.names}
    return ", ".join(f'{replaced.get(name, own[name])} as "{name}"' for name in own)


def sql_name(name: str) -> str:
    """A name, or a phrase of SQLite's full-text search, in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def query_batches(connection: Any, select: str, schema: TableSchema) -> Iterator[pa.RecordBatch]:
    """The rows of a DuckDB query in key order, with the table's own types."""
    order = ", ".join(f'"{c}" asc nulls last' for c in schema.key)
    for batch in connection.sql(f"select * from ({select}) order by {order}").to_arrow_reader(ROW_GROUP):
        table = pa.Table.from_batches([batch]).select(schema.schema.names)
        yield from table.cast(schema.schema).to_batches()


@contextlib.contextmanager
def connect(memory: str = DEFAULT_MEMORY, spill: Path | None = None) -> Iterator[Any]:
    """A DuckDB connection with bounded memory that spills into a folder and leaves nothing there."""
    import duckdb

    config: dict[str, str] = {"memory_limit": memory, "preserve_insertion_order": "false"}
    if spill is not None:
        config["temp_directory"] = str(spill / ".spill")
    connection = duckdb.connect(config=config)  # type: ignore[arg-type]
    try:
        connection.execute("set enable_progress_bar = false")
        yield connection
    finally:
        connection.close()
        if spill is not None:
            with contextlib.suppress(OSError):
                (spill / ".spill").rmdir()


def unreadable(path: Path, error: Exception, kind: str = "Parquet") -> BadInput:
    """The error for a table that the library cannot read, or for which there is no memory."""
    return out_of_room(error, path) or BrokenFolder(f"not a readable {kind} table: {error}", file=path)


def column_ranges(
    path: Path, columns: Sequence[str], groups: Iterable[int] | None = None
) -> list[tuple[int, int]]:
    """The bytes of a Parquet file that reading these columns of some row groups touches, its footer apart."""
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise unreadable(path, error) from error
    ranges = []
    for group in range(metadata.num_row_groups) if groups is None else groups:
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            chunk = row_group.column(number)
            if chunk.path_in_schema.partition(".")[0] in columns:
                first = chunk.dictionary_page_offset or chunk.data_page_offset
                start = min(first, chunk.data_page_offset)
                ranges.append((start, start + chunk.total_compressed_size))
    return ranges


def read_batches(
    files: Iterable[Path], size: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                yield from group_batches(file, size, columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise unreadable(path, error) from error


def group_batches(
    file: pq.ParquetFile, size: int = ROW_GROUP, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file in batches of at most `size`, one row group after the other.

    `iter_batches` over all groups keeps what it has read of each until the last one.
    """
    wanted = None if columns is None else list(columns)
    for group in range(file.num_row_groups):
        yield from file.iter_batches(size, row_groups=[group], columns=wanted)


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(columns) if columns is not None else None)
        return table.select(list(columns)) if columns is not None else table
    except FileNotFoundError:
        raise Missing("no such table", where=str(path)) from None
    except (pa.ArrowInvalid, OSError) as error:
        raise unreadable(path, error) from error
    except KeyError as error:
        raise BadInput(f"a column is missing: {error}", file=path) from error


# Tables of many rows, cut into files of `PART` rows: the first has the table's name, the others a number beside it.


PART = 16 * ROW_GROUP  # Rows of a file; a worker writes one without knowing the others


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
