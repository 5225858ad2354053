"""From strings to the rows where they appear, on disk: sorted hashes, mapped into memory.

The strings themselves are not stored here: whoever looks one up compares it with the row's own.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import mmh3
import numpy as np
import numpy.typing as npt

from whichone.files.beside import written_beside
from whichone.files.mapped import looked_up

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Pairs = npt.NDArray[np.uint64]

_PIECES = 64
_IN_MEMORY = 1 << 18
"""Hashes that are sorted without files: of a small corpus."""


def hashes(texts: Iterable[str]) -> Hashes:
    """64 bits of MurmurHash3 for each string."""
    digest = mmh3.hash64
    values = [digest(text.encode("utf-8", "surrogatepass"), signed=False)[0] for text in texts]
    return np.array(values, np.uint64)


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
        """Write the two arrays; the names of their files."""
        files = [f"{name}-hashes.npy", f"{name}-rows.npy"]
        rows = self._rows.astype(np.int32) if len(self._rows) < 2**31 else self._rows
        np.save(folder / files[0], self._hashes)
        np.save(folder / files[1], rows)
        return files

    @classmethod
    def write(
        cls, folder: Path, name: str, values: Iterable[tuple[Hashes, Rows]]
    ) -> tuple[list[str], list[Rows]]:
        """The files of hashes that come with their rows in ascending order, sorted on disk.

        Also pairs of rows whose hashes are equal, at most a hundred.
        """
        files = [f"{name}-hashes.npy", f"{name}-rows.npy"]
        shared: list[Rows] = []
        with (
            _in_pieces(folder / f".{name}-pieces", values) as (count, last, pieces),
            written_beside(folder / files[1]) as rows_file,
            written_beside(folder / files[0]) as hashes_file,
        ):
            sorted_hashes = _empty(hashes_file, np.uint64, count)
            rows = _empty(rows_file, np.int32 if last < 2**31 else np.int64, count)
            at = 0
            for pairs in pieces:
                order = np.argsort(pairs[:, 0], kind="stable")
                end = at + len(order)
                sorted_hashes[at:end] = pairs[order, 0]
                rows[at:end] = pairs[order, 1]
                shared += _shared(pairs[order], 100 - len(shared))
                at = end
        return files, shared

    @classmethod
    def open(cls, folder: Path, name: str) -> HashIndex:
        def mapped(file: str) -> npt.NDArray[np.generic]:
            array: npt.NDArray[np.generic] = np.load(folder / file, mmap_mode="r")
            file_in_memory: object = array.base
            if isinstance(file_in_memory, mmap.mmap):
                looked_up(file_in_memory)
            return array.view(np.ndarray)

        return cls(mapped(f"{name}-hashes.npy"), mapped(f"{name}-rows.npy"))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, text: str) -> Rows:
        """The rows whose strings may be this one."""
        value = hashes([text])
        first = int(np.searchsorted(self._hashes, value, "left")[0])
        last = int(np.searchsorted(self._hashes, value, "right")[0])
        return np.asarray(self._rows[first:last], np.int64)

    def bounds(self, texts: Sequence[str]) -> tuple[Rows, Rows]:
        """For each string where its rows begin and end, to be read by `row`."""
        values = hashes(texts)
        return (
            np.searchsorted(self._hashes, values, "left"),
            np.searchsorted(self._hashes, values, "right"),
        )

    def row(self, place: int) -> int:
        return int(self._rows[place])


@contextlib.contextmanager
def _in_pieces(
    folder: Path, values: Iterable[tuple[Hashes, Rows]]
) -> Iterator[tuple[int, int, Iterable[Pairs]]]:
    """How many pairs there are, the last row, and the pairs in pieces by hash: many on disk, few in memory."""
    blocks = iter(values)
    begun: list[tuple[Hashes, Rows]] = []
    count = 0
    while count <= _IN_MEMORY and (block := next(blocks, None)) is not None:
        begun.append(block)
        count += len(block[0])
    shutil.rmtree(folder, ignore_errors=True)
    if count <= _IN_MEMORY:
        pairs = np.concatenate([np.zeros((0, 2), np.uint64), *(_pairs(*block) for block in begun)])
        yield count, int(pairs[-1, 1]) if count else 0, [pairs]
        return
    folder.mkdir()
    count, last = _partition(folder, itertools.chain(begun, blocks))
    files = sorted(folder.iterdir())
    yield count, last, (np.fromfile(file, np.uint64).reshape(-1, 2) for file in files)
    shutil.rmtree(folder)


def _pairs(hashes: Hashes, rows: Rows) -> Pairs:
    return np.stack([hashes, rows.astype(np.uint64)], axis=1)


def _partition(folder: Path, values: Iterable[tuple[Hashes, Rows]]) -> tuple[int, int]:
    """Hashes and rows into files by the first bits of the hash; how many, and the last row."""
    count = last = 0
    shift = np.uint64(64 - _PIECES.bit_length() + 1)
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context((folder / f"{number:03}").open("wb")) for number in range(_PIECES)
        ]
        for hashes, rows in values:
            pairs = _pairs(hashes, rows)
            piece = (hashes >> shift).astype(np.int64)
            order = np.argsort(piece, kind="stable")
            ends = np.searchsorted(piece[order], np.arange(_PIECES + 1))
            pairs = pairs[order]
            for number in range(_PIECES):
                pairs[ends[number] : ends[number + 1]].tofile(files[number])
            count += len(hashes)
            last = int(rows[-1]) if len(rows) else last
    return count, last


def _empty(path: Path, kind: type[np.generic], count: int) -> npt.NDArray[np.generic]:
    """An array in a file, to be filled; one of no values cannot be mapped."""
    if not count:
        with path.open("wb") as file:
            np.save(file, np.zeros(0, kind))
        return np.zeros(0, kind)
    return np.lib.format.open_memmap(path, "w+", kind, (count,))


def _shared(pairs: Pairs, most: int) -> list[Rows]:
    same = np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0])[:most]
    return [pairs[at : at + 2, 1].astype(np.int64) for at in same.tolist()]
