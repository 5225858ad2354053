"""Tables that are mapped into memory, not read: Arrow files in batches of a fixed number of rows."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.errors import BrokenFolder, Missing
from whichone.files.beside import written_beside
from whichone.files.tables import fixed_groups

BATCH = 8_192
"""Rows of a batch: so few that a column of long texts stays below 2 GiB."""

Rows = npt.NDArray[np.int64]


def write_mapped(path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> int:
    """Write batches as they come, recut to `BATCH` rows; how many rows."""
    count = 0
    with (
        written_beside(path) as beside,
        pa.OSFile(str(beside), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        for group in fixed_groups(batches, schema, BATCH):
            columns = [_exact(group.column(name).combine_chunks()) for name in schema.names]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            count += group.num_rows
    return count


def _exact(array: pa.Array) -> pa.Array:
    """The same values in buffers of just their size: equal rows give equal bytes.

    How much room a buffer has beyond its values hangs on how the array was made.
    """
    if array.offset:
        array = pa.concat_arrays([array])
    count = len(array)
    validity, *rest = array.buffers()
    kept = validity.slice(0, (count + 7) // 8) if array.null_count and validity else None
    if pa.types.is_string(array.type):
        offsets, data = rest
        if not count or data is None:
            return pa.array(array.to_pylist(), array.type)
        end = int(np.frombuffer(offsets, np.int32, count + 1)[-1])
        buffers = [kept, offsets.slice(0, 4 * (count + 1)), data.slice(0, end)]
    else:
        buffers = [kept, rest[0].slice(0, count * array.type.bit_width // 8)]
    return pa.Array.from_buffers(array.type, count, buffers, array.null_count)


def looked_up(mapped: mmap.mmap) -> mmap.mmap:
    """A mapping in which places here and there are wanted: nothing around them is read ahead."""
    if hasattr(mmap, "MADV_RANDOM"):
        mapped.madvise(mmap.MADV_RANDOM)
    return mapped


class _Batches(Sequence[pa.RecordBatch]):
    """The batches of a mapped file, each read when it is wanted."""

    def __init__(self, mapped: mmap.mmap, path: Path) -> None:
        self._reader = pa.ipc.open_file(pa.py_buffer(mapped))
        self._path = path
        self._lock = threading.Lock()
        self.schema: pa.Schema = self._reader.schema

    def __len__(self) -> int:
        return int(self._reader.num_record_batches)

    @overload
    def __getitem__(self, place: int) -> pa.RecordBatch: ...
    @overload
    def __getitem__(self, place: slice) -> list[pa.RecordBatch]: ...
    def __getitem__(self, place: int | slice) -> pa.RecordBatch | list[pa.RecordBatch]:
        if isinstance(place, slice):
            return [self[n] for n in range(*place.indices(len(self)))]
        if place >= len(self):
            raise IndexError(place)
        try:
            with self._lock:
                return self._reader.get_batch(place)
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(self._path, error) from error


def _unreadable(path: Path, error: Exception) -> BrokenFolder:
    return BrokenFolder(f"not a readable Arrow table: {error}", file=path)


class MappedTable:
    """A table whose columns stay on disk; rows are found by arithmetic, not by search."""

    def __init__(
        self,
        batches: Sequence[pa.RecordBatch],
        schema: pa.Schema,
        lookups: Sequence[pa.RecordBatch] | None = None,
    ) -> None:
        """`lookups` are the same batches, for rows that are looked up one by one."""
        self._batches = batches
        self._lookups = batches if lookups is None else lookups
        self.schema = schema
        before = len(batches) - 1
        self._count: int = before * BATCH + batches[before].num_rows if batches else 0
        self._views: dict[tuple[str, int], tuple[npt.NDArray[np.int32], memoryview]] = {}
        self._numbers: dict[tuple[str, int], npt.NDArray[np.integer[Any]]] = {}

    @classmethod
    def open(cls, path: Path) -> MappedTable:
        try:
            with path.open("rb") as file:
                whole, places = (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for _ in range(2)
                )
            batches, lookups = _Batches(whole, path), _Batches(looked_up(places), path)
        except FileNotFoundError:
            raise Missing("no such table", where=str(path)) from None
        except (pa.ArrowInvalid, OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        return cls(batches, batches.schema, lookups)

    @classmethod
    def of(cls, table: pa.Table) -> MappedTable:
        """A table in memory behind the same face."""
        whole = table.combine_chunks()
        starts = range(0, whole.num_rows, BATCH)
        batches = [b for n in starts for b in whole.slice(n, BATCH).combine_chunks().to_batches()]
        return cls(batches, table.schema)

    def __len__(self) -> int:
        return self._count

    def table(self) -> pa.Table:
        """All rows as one Arrow table; nothing is copied."""
        return pa.Table.from_batches(list(self._batches), schema=self.schema)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            yield batch if columns is None else batch.select(list(columns))

    def value(self, row: int, column: str) -> Any:
        batch, place = divmod(row, BATCH)
        return self._batches[batch].column(column)[place].as_py()

    def number(self, row: int, column: str) -> int:
        """One integer of a column without missing values, faster than by `value`."""
        batch, place = divmod(row, BATCH)
        view = self._numbers.get((column, batch))
        if view is None:
            view = self._numbers[column, batch] = self._lookups[batch].column(column).to_numpy()
        return int(view[place])

    def strings(self, rows: Sequence[int], column: str) -> list[str]:
        """The strings of some rows, a missing one as empty; the shortest way to a few of many."""
        return [self.string(row, column) for row in rows]

    def string(self, row: int, column: str) -> str:
        """One string, a missing one as empty."""
        number, place = divmod(row, BATCH)
        view = self._views.get((column, number))
        if view is None:
            array = self._lookups[number].column(column)
            _, offsets, data = array.buffers()
            starts = np.frombuffer(offsets, np.int32)[array.offset :]
            view = self._views[column, number] = (starts, memoryview(data or b""))
        starts, data = view
        return str(data[starts[place] : starts[place + 1]], "utf-8")

    def slice(self, start: int, count: int, columns: Sequence[str]) -> pa.Table:
        """Rows that follow one another."""
        first, last = start // BATCH, max(start, start + count - 1) // BATCH
        batches = [b.select(list(columns)) for b in self._batches[first : last + 1]]
        fields = [self.schema.field(name) for name in columns]
        return pa.Table.from_batches(batches, schema=pa.schema(fields)).slice(
            start - first * BATCH, count
        )

    def take(self, rows: Rows | Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Some rows in the order asked for; only their batches are touched."""
        wanted = np.asarray(rows, np.int64)
        schema = pa.schema([self.schema.field(name) for name in columns])
        if not len(wanted):
            return schema.empty_table()
        order = np.argsort(wanted, kind="stable")
        inside = wanted[order]
        numbers, starts = np.unique(inside // BATCH, return_index=True)
        pieces = []
        for number, places in zip(numbers.tolist(), np.split(inside, starts[1:]), strict=True):
            batch = self._batches[number].select(list(columns))
            pieces.append(batch.take(pa.array(places - number * BATCH)))
        back = np.empty(len(wanted), np.int64)
        back[order] = np.arange(len(wanted))
        return pa.Table.from_batches(pieces, schema=schema).combine_chunks().take(pa.array(back))


def run_starts(values: pa.Array) -> Rows:
    """Where another value begins."""
    if not len(values):
        return np.zeros(0, np.int64)
    import pyarrow.compute as pc  # takes longer to import than most tables to read

    differs = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    changed = np.flatnonzero(differs.to_numpy(zero_copy_only=False))
    return np.concatenate([np.zeros(1, np.int64), changed + 1])
