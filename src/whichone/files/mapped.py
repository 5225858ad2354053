"""Tables that are mapped into memory, not read: Arrow files in batches of a fixed number of rows."""

from __future__ import annotations

import itertools
import mmap
import struct
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import mmh3
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.errors import BrokenFolder, Missing
from whichone.files.manifest import Compare
from whichone.files.output import written_beside
from whichone.files.tables import TableSchema, fixed_groups, in_key_order, unreadable

BATCH = 8_192  # Rows of a batch: so few that a column of long texts stays below 2 GiB

Rows = npt.NDArray[np.int64]
# Where a file is, by its name: `Folder.path`, which checks it, or a `joinpath` of a folder that is being made.
PathOf: TypeAlias = Callable[[str], Path]


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


def mapped_array(path: Path, *, here_and_there: bool = False) -> npt.NDArray[Any]:
    """An array in a file, mapped into memory; a plain one, as slices of a `memmap` cost ten times as much."""
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    except ValueError as error:
        raise BrokenFolder(f"not a readable array: {error}", file=path) from error
    file_in_memory: object = array.base
    if here_and_there and isinstance(file_in_memory, mmap.mmap):
        looked_up(file_in_memory)
    return array.view(np.ndarray)


def kept_mapped(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same values in a file without a name, mapped, to be read and changed; few stay in memory, without a file."""
    if array.nbytes < 1 << 20:
        return array
    with tempfile.TemporaryFile() as file:
        array.tofile(file)
        return np.memmap(file, array.dtype, "r+", shape=array.shape).view(np.ndarray)


CompareSome: TypeAlias = Callable[[int, int], None] | None
Column: TypeAlias = tuple[
    pa.Array, CompareSome
]  # With what compares bytes of its last buffer before they are used
# Where each string of a column begins, the bytes of all, what compares some of them, and a bit for each that is not
# missing, where some are; a memoryview is read quicker than an array.
_Strings: TypeAlias = tuple[memoryview, memoryview, CompareSome, bytes | None]


class _Batches:
    def __init__(self, mapped: mmap.mmap, path: Path, compare: Compare | None = None) -> None:
        self._compare = compare
        self._places = _batch_places(mapped, compare) if compare is not None else []
        whole = pa.py_buffer(mapped)
        self._start = whole.address
        self._reader = pa.ipc.open_file(whole)
        self._path = path
        self._lock = threading.Lock()
        self._held: dict[int, pa.RecordBatch] = {}  # Those of which columns were looked up
        self.schema: pa.Schema = self._reader.schema

    def __len__(self) -> int:
        return int(self._reader.num_record_batches)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, place: int) -> pa.RecordBatch:
        if self._compare is not None:
            self._compare([self._places[place][::2]])
        return self._read(place)

    def column(self, place: int, name: str) -> Column:
        """A column of a batch, of which all but the last buffer is compared here."""
        if (batch := self._held.get(place)) is None:
            _ = self._compare and self._compare([self._places[place][:2]])
            batch = self._held[place] = self._read(place)
        array = batch.column(name)
        if (compare := self._compare) is None:
            return array, None
        *others, last = [(b.address - self._start, b.size) if b else (0, 0) for b in array.buffers()]
        compare([(start, start + size) for start, size in others])
        return array, lambda start, end: compare(((last[0] + start, last[0] + end),))

    def _read(self, place: int) -> pa.RecordBatch:
        try:
            with self._lock:
                return self._reader.get_batch(place)
        except (pa.ArrowInvalid, OSError) as error:
            raise unreadable(self._path, error, "Arrow") from error


def _batch_places(mapped: mmap.mmap, compare: Compare) -> list[tuple[int, int, int]]:
    """Where in an Arrow file each batch, its body and what follows begin, by the footer, which is compared first.

    The footer is a FlatBuffers table whose fourth field is the vector of the batches' `Block`s:
    offset, length of the metadata, length of the body.
    """
    end = len(mapped) - len(b"ARROW1") - 4
    compare([(0, 16), (end, len(mapped))])
    start = end - int.from_bytes(mapped[end : end + 4], "little")
    compare([(start, end)])
    footer = mapped[start:end]

    def number(at: int, kind: str = "<I") -> int:
        return int(struct.unpack_from(kind, footer, at)[0])

    table = number(0)
    vector = table + number(table - number(table, "<i") + 4 + 3 * 2, "<H")
    vector += number(vector)
    blocks = struct.iter_unpack("<qi4xq", footer[vector + 4 : vector + 4 + 24 * number(vector)])
    return [(at, at + metadata, at + metadata + body) for at, metadata, body in blocks]


class MappedTable:
    """A table whose columns stay on disk; rows are found by arithmetic, not by search."""

    def __init__(
        self, batches: _Batches | list[pa.RecordBatch], schema: pa.Schema, lookups: _Batches | None = None
    ) -> None:
        """`lookups` are the same batches, for rows that are looked up one by one."""
        self._batches = batches
        self._lookups = batches if lookups is None else lookups
        self.schema = schema
        before = len(batches) - 1
        self._count: int = before * BATCH + batches[before].num_rows if batches else 0
        self._views: dict[str, dict[int, _Strings]] = {
            f.name: {} for f in schema if pa.types.is_string(f.type)
        }
        self._numbers: dict[tuple[str, int], npt.NDArray[np.integer[Any]]] = {}

    @classmethod
    def open(cls, path: Path, compare: Compare | None = None) -> MappedTable:
        """Map a file; `compare`, see `Folder.path_by_block`, is called for each batch before it is used."""
        try:
            with path.open("rb") as file:
                return cls.of_file(file, path, compare)
        except FileNotFoundError:
            raise Missing("no such table", where=str(path)) from None
        except (pa.ArrowInvalid, OSError, ValueError, struct.error) as error:
            raise unreadable(path, error, "Arrow") from error

    @classmethod
    def of_file(cls, file: IO[bytes], path: Path = Path(), compare: Compare | None = None) -> MappedTable:
        whole, places = (mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for _ in range(2))
        batches, lookups = (_Batches(mapped, path, compare) for mapped in (whole, looked_up(places)))
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
        number, place = divmod(row, BATCH)
        if (views := self._views.get(column)) is None:
            return self._batches[number].column(column)[place].as_py()
        valid = (views.get(number) or self._view(number, column))[3]
        return self.string(row, column) if valid is None or valid[place >> 3] >> (place & 7) & 1 else None

    def number(self, row: int, column: str) -> int:
        """One integer of a column without missing values, faster than by `value`."""
        batch, place = divmod(row, BATCH)
        if (view := self._numbers.get((column, batch))) is None:
            array, compare = self._column(batch, column)
            _ = compare and compare(0, array.nbytes)
            view = self._numbers[column, batch] = array.to_numpy()
        return int(view[place])

    def strings(self, rows: Sequence[int], column: str) -> list[str]:
        """The strings of some rows, a missing one as empty; the shortest way to a few of many."""
        views = self._views[column]
        texts = []
        compared = 0
        for row in rows:
            number, place = divmod(row, BATCH)
            starts, data, compare, _ = views.get(number) or self._view(number, column)
            start, end = starts[place], starts[place + 1]
            if compare is not None and row >= compared:
                # neighbours in one go
                compared = min(rows[-1] + 1, row - place + BATCH) if isinstance(rows, range) else 0
                compare(start, starts[compared - row + place] if compared else end)
            texts.append(str(data[start:end], "utf-8"))
        return texts

    def string(self, row: int, column: str) -> str:
        return self.strings((row,), column)[0]

    def _view(self, number: int, column: str) -> _Strings:
        array, compare = self._column(number, column)
        _, offsets, data = array.buffers()
        starts, valid = memoryview(offsets).cast("i")[array.offset :], None
        if array.null_count:
            there = array.is_valid() if array.null_count < len(array) else np.zeros(len(array), np.bool_)
            valid = np.packbits(np.asarray(there), bitorder="little").tobytes()
        view = self._views[column][number] = (starts, memoryview(data or b""), compare, valid)
        return view

    def _column(self, number: int, name: str) -> Column:
        held = self._lookups
        return held.column(number, name) if isinstance(held, _Batches) else (held[number].column(name), None)

    def slice(self, start: int, count: int, columns: Sequence[str]) -> pa.Table:
        first, last = start // BATCH, max(start, start + count - 1) // BATCH
        numbers = range(first, min(last + 1, len(self._batches)))
        batches = [self._batches[number].select(list(columns)) for number in numbers]
        fields = [self.schema.field(name) for name in columns]
        return pa.Table.from_batches(batches, schema=pa.schema(fields)).slice(start - first * BATCH, count)

    def take(self, rows: Rows | Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Some rows in the order asked for; only their batches are touched."""
        wanted = np.asarray(rows, np.int64)
        schema = pa.schema([self.schema.field(name) for name in columns])
        if not len(wanted):
            return schema.empty_table()
        order = np.argsort(wanted, kind="stable")
        inside = wanted[order]
        numbers, starts = np.unique(inside // BATCH, return_index=True)
        pieces = [
            self._batches[number].select(list(columns)).take(pa.array(places - number * BATCH))
            for number, places in zip(numbers.tolist(), np.split(inside, starts[1:]), strict=True)
        ]
        back = np.empty(len(wanted), np.int64)
        back[order] = np.arange(len(wanted))
        return pa.Table.from_batches(pieces, schema=schema).combine_chunks().take(pa.array(back))


def mapped_rows(files: Iterable[Path]) -> pa.Table:
    """The rows of mapped files, one after the other, as one table; nothing is copied."""
    return pa.concat_tables(MappedTable.open(file).table() for file in files)


def run_starts(values: pa.Array | pa.ChunkedArray) -> Rows:
    """Where another value begins."""
    if not len(values):
        return np.zeros(0, np.int64)
    import pyarrow.compute as pc  # takes longer to import than most tables to read

    differs = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    return np.concatenate([[0], np.flatnonzero(np.asarray(differs)) + 1])


# From strings to the rows where they appear, on disk: sorted hashes, mapped into memory.
# The strings themselves are not stored here: whoever looks one up compares it with the row's own.


Hashes = npt.NDArray[np.uint64]

_PAIRS = TableSchema.of("pairs", ("hash", "row"), ("hash", pa.uint64()), ("row", pa.int64()))


def hashes(texts: Iterable[str]) -> Hashes:
    """64 bits of MurmurHash3 for each string."""
    digest = mmh3.hash64
    values = [digest(text.encode("utf-8", "surrogatepass"), signed=False)[0] for text in texts]
    return np.array(values, np.uint64)


def column_hashes(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Hashes, Rows]]:
    """The hash of every text of the only column with its row; missing ones have none."""
    start = 0
    for (texts,) in (batch.columns for batch in batches):
        rows = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)) + start
        yield hashes(texts.drop_null().to_pylist()), rows
        start += len(texts)


class HashIndex:
    """All rows of a string's hash; rows of one hash are in their order."""

    def __init__(self, sorted_hashes: Hashes, rows: Rows) -> None:
        self._hashes, self._rows = sorted_hashes, rows

    @classmethod
    def of(cls, values: Hashes) -> HashIndex:
        """From the hash of every row, in the order of the rows."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], order.astype(np.int64))

    def pointing_at(self, rows: Rows) -> HashIndex:
        """The same for strings that are not in every row: the n-th one appears in `rows[n]`."""
        return HashIndex(self._hashes, rows[self._rows])

    def save(self, folder: Path, name: str) -> list[str]:
        files = [f"{name}-hashes.npy", f"{name}-rows.npy"]
        np.save(folder / files[0], self._hashes)
        np.save(folder / files[1], self._rows.astype(np.int32) if len(self._rows) < 2**31 else self._rows)
        return files

    @classmethod
    def write(
        cls, folder: Path, name: str, values: Iterable[tuple[Hashes, Rows]]
    ) -> tuple[list[str], list[Rows]]:
        """The files of hashes with their rows, which come in any order.

        Also pairs of rows whose hashes are equal, at most a hundred.
        """
        count = last = 0

        def pairs() -> Iterator[pa.RecordBatch]:
            nonlocal count, last
            for hashes, rows in values:
                count, last = count + len(rows), max(last, int(rows.max(initial=0)))
                yield pa.record_batch([hashes, rows], schema=_PAIRS.schema)

        files = [f"{name}-hashes.npy", f"{name}-rows.npy"]
        ordered = in_key_order(pairs(), _PAIRS, folder)
        begun = list(itertools.islice(ordered, 1))  # until then all pairs are counted
        kind = np.dtype(np.int32 if last < 2**31 else np.int64)
        with (
            written_beside(folder / files[1]) as rows_file,  # the last to be in its place
            written_beside(folder / files[0]) as hashes_file,
            hashes_file.open("wb") as hashes_written,
            rows_file.open("wb") as rows_written,
        ):
            for file, descr in ((hashes_written, "<u8"), (rows_written, kind.str)):
                header = {"descr": descr, "fortran_order": False, "shape": (count,)}
                np.lib.format.write_array_header_1_0(file, header)
            for batch in itertools.chain(begun, ordered):
                batch["hash"].to_numpy().tofile(hashes_written)
                batch["row"].to_numpy().astype(kind).tofile(rows_written)
        index = cls.open(folder.joinpath, name)
        same = np.flatnonzero(index._hashes[1:] == index._hashes[:-1])[:100]
        return files, [index._rows[at : at + 2].astype(np.int64) for at in same.tolist()]

    @classmethod
    def open(cls, file: PathOf, name: str) -> HashIndex:
        files = (file(f"{name}-hashes.npy"), file(f"{name}-rows.npy"))
        return cls(*(mapped_array(path, here_and_there=True) for path in files))

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, text: str) -> Rows:
        """The rows whose strings may be this one."""
        (first,), (last,) = self.bounds([text])
        return np.asarray(self._rows[first:last], np.int64)

    def bounds(self, texts: Sequence[str]) -> tuple[Rows, Rows]:
        """For each string where its rows begin and end, to be read by `row`."""
        values = hashes(texts)
        return np.searchsorted(self._hashes, values, "left"), np.searchsorted(self._hashes, values, "right")

    def row(self, place: int) -> int:
        return int(self._rows[place])

    def matching(self, texts: Sequence[str], column: str, table: MappedTable) -> list[int | None]:
        """The first row whose column is the text itself, not merely of the same hash."""
        if not texts:
            return []
        first, last = self.bounds(texts)
        rows: list[int | None] = [None] * len(texts)
        there = np.flatnonzero(first < last)
        places = self._rows[first[there]].tolist()
        for n, row, held in zip(there.tolist(), places, table.strings(places, column), strict=True):
            if held and held == texts[n]:
                rows[n] = row
                continue
            same = table.string if texts[n] else table.value  # a missing one is not an empty one
            others = map(self.row, range(int(first[n]), int(last[n])))
            rows[n] = next((r for r in others if same(r, column) == texts[n]), None)
        return rows
