"""Records kept on disk while a command works: appended once, read in order or by their place as often as wanted."""

from __future__ import annotations

import os
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.files.lines import encode_text

T = TypeVar("T")

IN_MEMORY = 131_072
"""Records of one kind that a command keeps as objects; where there are more they stay on disk."""
_BLOCK = 1 << 20
_PLACE = 8


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


class Spool(OnDisk[T], Generic[T]):
    """Records of one type as lines of JSON in a file without a name, which goes when the process ends.

    Where each line begins is in a second file, so that memory does not depend on how many there are. `near` is the
    folder to be written: the file is on the same disk.
    """

    def __init__(self, kind: type[T], near: str | Path | None = None) -> None:
        place = existing(near)
        self._lines = tempfile.TemporaryFile(dir=place)  # noqa: SIM115
        self._starts = tempfile.TemporaryFile(dir=place)  # noqa: SIM115
        self._decode = msgspec.json.Decoder(kind).decode
        for file in (self._lines, self._starts):
            weakref.finalize(self, file.close)
        self._count = self._end = 0
        self._flushed = True

    def append(self, record: T) -> None:
        line = encode_text(record).encode() + b"\n"
        self._lines.write(line)
        self._starts.write(self._end.to_bytes(_PLACE, "little"))
        self._end += len(line)
        self._count += 1
        self._flushed = False

    def extend(self, records: Iterable[T]) -> Spool[T]:
        for record in records:
            self.append(record)
        return self

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        self._flush()
        decode = self._decode
        for line in self._raw():
            yield decode(line)

    def _at(self, number: int) -> T:
        self._flush()
        raw = os.pread(self._starts.fileno(), 2 * _PLACE, number * _PLACE)
        start = int.from_bytes(raw[:_PLACE], "little")
        end = int.from_bytes(raw[_PLACE:], "little") or self._end
        return self._decode(os.pread(self._lines.fileno(), end - start, start))

    def _raw(self) -> Iterator[bytes]:
        at, rest = 0, b""
        while block := os.pread(self._lines.fileno(), min(_BLOCK, self._end - at), at):
            at += len(block)
            *lines, rest = (rest + block).split(b"\n")
            yield from lines

    def _flush(self) -> None:
        if not self._flushed:
            self._lines.flush()
            self._starts.flush()
            self._flushed = True


class Selection(OnDisk[T], Generic[T]):
    """Some records of a sequence by their places, read where they are."""

    def __init__(self, records: Sequence[T], places: npt.NDArray[Any] | Sequence[int]) -> None:
        self.records: Sequence[T] = records
        if isinstance(records, Selection):
            self.records, places = records.records, records.places[np.asarray(places, np.int64)]
        self.places: npt.NDArray[Any] = np.asarray(
            places, np.int32 if len(self.records) < 2**31 else np.int64
        )
        """Where they are; of a choice among chosen ones where they are in all."""

    def __len__(self) -> int:
        return len(self.places)

    def _at(self, number: int) -> T:
        return self.records[int(self.places[number])]

    def __iter__(self) -> Iterator[T]:
        if isinstance(self.records, OnDisk):
            return self.records.chosen(self.places)
        return (self.records[int(place)] for place in self.places)


def kept(kind: type[T], records: Iterable[T]) -> Sequence[T]:
    """All records: a tuple where they are few, else a spool."""
    iterator = iter(records)
    first = tuple(islice(iterator, IN_MEMORY + 1))
    if len(first) <= IN_MEMORY:
        return first
    return Spool(kind).extend(first).extend(iterator)


def numbers(count: int, kind: Any, fill: float = 0) -> npt.NDArray[Any]:
    """An array with one value in all places, mapped from a file without a name where it is long."""
    if count <= IN_MEMORY:
        return np.full(count, fill, kind)
    with tempfile.TemporaryFile() as file:
        array = np.memmap(file, kind, "w+", shape=(count,))
    if fill != 0:
        array[:] = fill
    return array


def existing(near: str | Path | None) -> Path | None:
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
