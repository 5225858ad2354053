"""Records kept on disk while a command works: appended once, read in order or by their place as often as wanted."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, overload

import mmh3
import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.files.lines import encode_text
from whichone.files.mapped import BATCH, HashIndex, MappedTable, column_hashes, kept_mapped
from whichone.files.tables import array_of, fixed_groups
from whichone.records import without_collector

T = TypeVar("T")
V = TypeVar("V")


class OnDisk(Sequence[T], Generic[T]):
    """A sequence that is equal to every other sequence of the same records; a slice of it is a `Selection`."""

    @abstractmethod
    def _at(self, number: int) -> T:
        """The record at a place from the front."""

    def chosen(self, places: npt.NDArray[Any]) -> Iterator[T]:
        """The records at these places from the front, in the order asked for."""
        return (self._at(int(place)) for place in places)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return Selection(self, np.arange(len(self))[place])
        number = int(place) + (len(self) if place < 0 else 0)
        if not 0 <= number < len(self):
            raise IndexError(place)
        return self._at(number)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


_PLAIN = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _plain(kind: Any) -> pa.DataType | None:
    """How a column has the values of a type, or none of them; None where it has them as JSON."""
    several = get_origin(kind) in (Union, UnionType)
    members = [m for m in get_args(kind) if m is not NoneType] if several else [kind]
    if len(members) != 1:
        return None
    return pa.string() if get_origin(members[0]) is Literal else _PLAIN.get(members[0])


class RecordColumns(Generic[T]):
    """A struct's fields as columns; what is neither text nor a number is kept as JSON."""

    def __init__(self, kind: type[T]) -> None:
        struct: Any = kind
        fields = msgspec.structs.fields(struct)
        self._decode = {f.name: msgspec.json.Decoder(f.type).decode for f in fields if _plain(f.type) is None}
        self.schema = pa.schema([(f.name, _plain(f.type) or pa.string()) for f in fields])
        self._names: list[str] = self.schema.names
        self._kind, self._by_place = struct, len(struct.__match_args__) == len(fields)

    def columns(self, records: Sequence[T]) -> dict[str, Sequence[Any]]:
        rows: Sequence[Any] = records
        values = zip(*map(msgspec.structs.astuple, rows), strict=True) if rows else ([] for _ in self._names)
        columns = dict(zip(self._names, values, strict=True))
        return columns | {name: [*map(encode_text, columns[name])] for name in self._decode}

    def batch(self, records: Sequence[T]) -> pa.RecordBatch:
        columns = self.columns(records)
        return pa.record_batch([array_of(columns[f.name], f) for f in self.schema], schema=self.schema)

    def records(self, table: pa.Table | pa.RecordBatch) -> Iterator[T]:
        columns = [table.column(name).to_pylist() for name in self._names]
        for place, name in enumerate(self._names):
            if (decode := self._decode.get(name)) is not None:
                columns[place] = map(decode, columns[place])
        if self._by_place:
            return map(self._kind, *columns)
        return (self._kind(**dict(zip(self._names, row, strict=True))) for row in zip(*columns, strict=True))


class MappedRecords(OnDisk[T], Generic[T]):
    """Structs of one type in a table without a name, which goes when the process ends: all written, then mapped.

    `near` is the folder to be written: the file is on the same disk.
    """

    def __init__(self, kind: type[T], near: str | Path | None = None) -> None:
        self._columns = RecordColumns(kind)
        self._file = tempfile.TemporaryFile(dir=folder_near(near))  # noqa: SIM115
        self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._columns.schema)
        self._count, self._new = 0, list[T]()
        weakref.finalize(self, self._file.raw.close)  # What a full disk did not take is not written again

    def append(self, record: T) -> None:
        self._new.append(record)
        self._count += 1
        if len(self._new) == BATCH:
            self._write()

    def extend(self, records: Iterable[T]) -> MappedRecords[T]:
        for record in records:
            self.append(record)
        return self

    def _write(self) -> None:
        self._writer.write_batch(self._columns.batch(self._new))
        self._new = []

    @functools.cached_property
    def _table(self) -> MappedTable:
        if self._new:
            self._write()
        self._writer.close()
        self._file.flush()
        return MappedTable.of_file(self._file)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(map(self._columns.records, self._table.batches()))

    def chosen(self, places: npt.NDArray[Any]) -> Iterator[T]:
        for some in np.split(places, range(_TOGETHER, len(places), _TOGETHER)):
            yield from self._columns.records(self._table.take(some, self._columns.schema.names))

    def _at(self, number: int) -> T:
        return next(self._columns.records(self._table.slice(number, 1, self._columns.schema.names)))


_TOGETHER = 1_024  # Records that are looked up at once


class Selection(OnDisk[T], Generic[T]):
    """Some records of a sequence by their places, read where they are."""

    def __init__(self, records: Sequence[T], places: npt.NDArray[Any] | Sequence[int]) -> None:
        self.records: Sequence[T] = records
        if isinstance(records, Selection):
            self.records, places = records.records, records.places[np.asarray(places, np.int64)]
        # Where they are; of a choice among chosen ones where they are in all.
        self.places: npt.NDArray[Any] = np.asarray(
            places, np.int32 if len(self.records) < 2**31 else np.int64
        )

    def __len__(self) -> int:
        return len(self.places)

    def _at(self, number: int) -> T:
        return self.records[int(self.places[number])]

    def __iter__(self) -> Iterator[T]:
        if isinstance(self.records, OnDisk):
            return self.records.chosen(self.places)
        return (self.records[int(place)] for place in self.places)


_FEW = 1 << 15  # Records of a table that are kept in memory


class Stored(OnDisk[T], Generic[T]):
    """Records of a table on disk: few are kept in memory, of more a mapped copy is read.

    It is written at the second pass, or when a record is first asked for by its place.
    """

    def __init__(self, kind: Any, counts: Sequence[int], decode: Callable[[int], Iterator[T]]) -> None:
        """`counts` says how many records each part has."""
        self._kind, self._decode, self._parts = kind, decode, range(len(counts))
        self._count = sum(counts)
        self._computed: dict[str, Any] = {}
        self._passed = False

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        first, self._passed = not self._passed, True
        once = first and self._count > _FEW and "_rows" not in vars(self)
        return self._decoded() if once else iter(self._rows)

    def chosen(self, places: npt.NDArray[Any]) -> Iterator[T]:
        rows = self._rows
        return rows.chosen(places) if isinstance(rows, OnDisk) else map(rows.__getitem__, places.tolist())

    def once(self, name: str, compute: Callable[[], V]) -> V:
        """What is computed over all of them, the first time that it is asked for."""
        if name not in self._computed:
            self._computed[name] = compute()
        return self._computed[name]

    def _at(self, number: int) -> T:
        return self._rows[number]

    def _decoded(self) -> Iterator[T]:
        return chain.from_iterable(map(self._decode, self._parts))

    @functools.cached_property
    def _rows(self) -> Sequence[T]:
        if self._count > _FEW:
            return MappedRecords[T](self._kind).extend(self._decoded())
        with without_collector():
            return list(self._decoded())


def folder_near(near: str | Path | None) -> Path | None:
    """The folder itself or the first one above it that exists; None for the system's own place."""
    if near is None:
        return None
    place = Path(near).absolute()
    return next((p for p in (place, *place.parents) if p.is_dir() and os.access(p, os.W_OK)), None)


def blocks(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """The same things in lists of `size`, the last one shorter."""
    iterator = iter(things)
    while block := list(islice(iterator, size)):
        yield block


_RUN = 1 << 17  # Entries of a run


class Seen:
    """Strings with the number that each came with first, in 24 bytes each, most of them in files.

    Strings count as equal when 128 bits of MurmurHash3 are: two of a billion differ all the same with a
    probability of 1 in 10^20.
    """

    def __init__(self) -> None:
        # The two halves of each hash, in the order of the first, and the numbers.
        self._runs: list[npt.NDArray[np.uint64]] = []
        self._last: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._last) + sum(len(numbers) for *_, numbers in self._runs)

    def add(self, texts: Sequence[str], numbers: Sequence[int]) -> list[int | None]:
        """For each string the number it came with before, None where it is new; new ones are remembered."""
        keys, before = self._in_runs(texts)
        last = self._last
        for place, (key, number) in enumerate(zip(keys, numbers, strict=True)):
            if before[place] is None:
                before[place] = last.get(key)
                if before[place] is None:
                    last[key] = number
        if len(last) >= _RUN:
            halves = np.frombuffer(b"".join(last), "<u8").reshape(-1, 2)
            order = np.argsort(halves[:, 0])
            values = np.fromiter(last.values(), np.uint64, len(last))
            self._runs.append(kept_mapped(np.column_stack([halves, values])[order].T.copy()))
            self._last = {}
        return before

    def add_one(self, text: str, number: int = 0) -> int | None:
        return self.add([text], [number])[0]

    def numbers_of(self, texts: Sequence[str]) -> list[int | None]:
        """The number of each string, None for those that never came; nothing is remembered."""
        keys, before = self._in_runs(texts)
        return [self._last.get(k) if b is None else b for k, b in zip(keys, before, strict=True)]

    def _in_runs(self, texts: Sequence[str]) -> tuple[list[bytes], list[int | None]]:
        keys = [mmh3.hash_bytes(text.encode("utf-8", "surrogatepass")) for text in texts]
        before: list[int | None] = [None] * len(keys)
        asked = np.frombuffer(b"".join(keys), "<u8").reshape(-1, 2)
        for first, second, numbers in self._runs:
            places = np.minimum(np.searchsorted(first, asked[:, 0]), len(first) - 1)
            same = (first[places] == asked[:, 0]) & (second[places] == asked[:, 1])
            for place in np.flatnonzero(same).tolist():
                before[place] = int(numbers[places[place]])
        return keys, before


@contextlib.contextmanager
def unnamed(near: str | Path | None = None) -> Iterator[Path]:
    """A folder for files that are mapped and then go; it is on the disk of `near`, the folder to be written."""
    with tempfile.TemporaryDirectory(dir=folder_near(near), prefix=".mapped-") as place:
        yield Path(place)


def mapped_copy(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, near: str | Path | None = None
) -> MappedTable:
    with unnamed(near) as place:
        file = place / "rows.arrow"
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for group in fixed_groups(batches, schema, BATCH):
                writer.write_table(group)
        return MappedTable.open(file)


def mapped_index(batches: Iterable[pa.RecordBatch], column: str, near: str | Path | None = None) -> HashIndex:
    """The rows of each text of a column; those without one are left out."""

    with unnamed(near) as place:
        HashIndex.write(place, "key", column_hashes(batch.select([column]) for batch in batches))
        return HashIndex.open(place.joinpath, "key")


class KeyedTable(Mapping[str, T]):
    """A record for each row of a table, by the row's key: in the order of the rows, or best of many keys at once.

    `decode` gives the records of some rows. Of the rows of one key the first counts.
    """

    def __init__(
        self,
        batches: Iterable[pa.RecordBatch],
        schema: pa.Schema,
        decode: Callable[[pa.Table], Iterable[T]],
        near: str | Path | None = None,
    ) -> None:
        """The first column of the schema has the keys."""
        self._key, self._decode = schema.names[0], decode
        self._table = table = mapped_copy(batches, schema, near)
        keys = [self._key]
        self._index = functools.cache(lambda: mapped_index(table.batches(keys), keys[0], near))

    @classmethod
    def of_pairs(
        cls,
        pairs: Iterable[tuple[str, Any]],
        kind: pa.DataType,
        decode: Callable[[pa.Table], Iterable[T]],
        near: str | Path | None = None,
    ) -> KeyedTable[T]:
        """From keys and values as they come, which are the columns "key" and "value"."""
        schema = pa.schema([("key", pa.string()), ("value", kind)])
        columns = (zip(*block, strict=True) for block in blocks(pairs, BATCH))
        return cls((pa.record_batch([[*k], [*v]], schema=schema) for k, v in columns), schema, decode, near)

    def decoded(self, decode: Callable[[pa.Table], Iterable[V]]) -> KeyedTable[V]:
        other: KeyedTable[Any] = copy.copy(self)
        other._decode = decode
        return other

    def many(self, keys: Sequence[str]) -> list[T | None]:
        rows = self._index().matching(keys, self._key, self._table)
        known = [row for row in rows if row is not None]
        records = iter(self._decode(self._table.take(known, self._table.schema.names)))
        return [None if row is None else next(records) for row in rows]

    def __getitem__(self, key: str) -> T:
        (record,) = self.many([key])
        if record is None:
            raise KeyError(key)
        return record

    def __iter__(self) -> Iterator[str]:
        for batch in self._table.batches([self._key]):
            yield from batch[0].to_pylist()

    def __len__(self) -> int:
        return len(self._table)

    def records(self) -> Iterator[T]:
        for batch in self._table.batches():
            yield from self._decode(pa.Table.from_batches([batch]))

    def values(self) -> ValuesView[T]:
        return _Values(self)

    def items(self) -> ItemsView[str, T]:
        return _Items(self)


class _Values(ValuesView[T]):
    _mapping: KeyedTable[T]

    def __iter__(self) -> Iterator[T]:
        return self._mapping.records()


class _Items(ItemsView[str, T]):
    _mapping: KeyedTable[T]

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return zip(self._mapping, self._mapping.records(), strict=True)


def of_keys(records: Mapping[str, T], keys: Sequence[str]) -> list[T | None]:
    """The record of each key, None where there is none: of a table many at once."""
    return records.many(keys) if isinstance(records, KeyedTable) else [*map(records.get, keys)]


def lists_of(column: pa.ChunkedArray) -> list[list[str]]:
    """A column of lists of texts."""
    whole = column.combine_chunks()
    every = whole.flatten().to_pylist()
    ends = accumulate(whole.value_lengths().fill_null(0).to_pylist(), initial=0)
    return [every[start:end] for start, end in pairwise(ends)]
