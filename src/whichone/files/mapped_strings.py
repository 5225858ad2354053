"""A column of strings on disk, looked up by row: their bytes, and where each ends; both mapped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class MappedStrings(Sequence[str]):
    """Strings by their row; nothing is read but what is asked for."""

    def __init__(self, octets: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self._octets, self._ends = octets, ends

    @staticmethod
    def write(folder: Path, name: str, columns: Iterable[pa.Array]) -> list[str]:
        """Write a column as it comes; the names of its two files."""
        files = [f"{name}.txt", f"{name}-ends.npy"]
        ends: list[npt.NDArray[np.int64]] = []
        total = 0
        with (folder / files[0]).open("wb") as out:
            for column in columns:
                array = column.cast(pa.large_string())
                offsets = np.frombuffer(array.buffers()[1], np.int64)
                offsets = offsets[array.offset : array.offset + len(array) + 1]
                if not len(array):
                    continue
                out.write(memoryview(array.buffers()[2])[offsets[0] : offsets[-1]])
                ends.append(offsets[1:] - offsets[0] + total)
                total = int(ends[-1][-1])
        together = np.concatenate(ends) if ends else np.zeros(0, np.int64)
        np.save(folder / files[1], together.astype(np.uint32) if total < 1 << 32 else together)
        return files

    @classmethod
    def open(cls, folder: Path, name: str) -> MappedStrings:
        ends = np.load(folder / f"{name}-ends.npy", mmap_mode="r").view(np.ndarray)
        path = folder / f"{name}.txt"
        empty = path.stat().st_size == 0  # an empty file cannot be mapped
        octets = np.zeros(0, np.uint8) if empty else np.memmap(path, np.uint8, "r")
        return cls(octets.view(np.ndarray), ends)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return self.take(range(len(self))[row])
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self.take([row % len(self)])[0]

    def take(self, rows: npt.NDArray[np.int64] | Sequence[int]) -> list[str]:
        """Many at once, in the order asked for; rows count from 0."""
        wanted = np.asarray(rows, np.int64)
        if not len(wanted):
            return []
        ends = self._ends.take(wanted).tolist()
        starts = np.where(wanted > 0, self._ends.take(np.maximum(wanted - 1, 0)), 0).tolist()
        octets = self._octets
        return [octets[a:b].tobytes().decode() for a, b in zip(starts, ends, strict=True)]
