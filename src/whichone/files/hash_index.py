"""From strings to the rows where they appear, on disk: sorted hashes, mapped into memory.

The strings themselves are not stored here: whoever looks one up compares it with the row's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import mmh3
import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]


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
    def open(cls, folder: Path, name: str) -> HashIndex:
        def mapped(file: str) -> npt.NDArray[np.generic]:
            array: npt.NDArray[np.generic] = np.load(folder / file, mmap_mode="r")
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
