"""Which strings came before, of any number of them: 128 bits of each one's hash in sorted runs on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import mmh3
import numpy as np
import numpy.typing as npt

from whichone.files.spool import existing

Run = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]
"""The two halves of each hash, in the order of the first, and the numbers."""
_RUN = 1 << 17
"""Entries of a run; those of the last one are in memory."""


class Seen:
    """Strings with the number that each came with first.

    Strings count as equal when 128 bits of MurmurHash3 are: two of a billion differ all the same with a
    probability of 1 in 10^20.
    """

    def __init__(self, near: str | Path | None = None) -> None:
        self._near = existing(near)
        self._runs: list[Run] = []
        self._last: dict[bytes, int] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many different strings there are."""
        return self._count

    def add(self, texts: Sequence[str], numbers: Sequence[int]) -> list[int | None]:
        """For each string the number it came with before, None where it is new; new ones are remembered."""
        keys = [mmh3.hash_bytes(text.encode("utf-8", "surrogatepass")) for text in texts]
        before = self._in_runs(keys)
        last = self._last
        for place, (key, number) in enumerate(zip(keys, numbers, strict=True)):
            if before[place] is None:
                before[place] = last.get(key)
                if before[place] is None:
                    last[key] = number
                    self._count += 1
        if len(last) >= _RUN:
            self._write()
        return before

    def add_one(self, text: str, number: int = 0) -> int | None:
        return self.add([text], [number])[0]

    def numbers(self, texts: Sequence[str]) -> list[int | None]:
        """The number of each string, None for those that never came; nothing is remembered."""
        keys = [mmh3.hash_bytes(text.encode("utf-8", "surrogatepass")) for text in texts]
        before = self._in_runs(keys)
        return [self._last.get(k) if b is None else b for k, b in zip(keys, before, strict=True)]

    def _in_runs(self, keys: Sequence[bytes]) -> list[int | None]:
        before: list[int | None] = [None] * len(keys)
        if not self._runs or not keys:
            return before
        asked = np.frombuffer(b"".join(keys), "<u8").reshape(-1, 2)
        for first, second, numbers in self._runs:
            places = np.minimum(np.searchsorted(first, asked[:, 0]), len(first) - 1)
            same = (first[places] == asked[:, 0]) & (second[places] == asked[:, 1])
            for place in np.flatnonzero(same).tolist():
                before[place] = int(numbers[places[place]])
        return before

    def _write(self) -> None:
        halves = np.frombuffer(b"".join(self._last), "<u8").reshape(-1, 2)
        numbers = np.fromiter(self._last.values(), np.int64, len(self._last))
        order = np.argsort(halves[:, 0])
        columns = halves[order, 0], halves[order, 1], numbers[order].view(np.uint64)
        with tempfile.TemporaryFile(dir=self._near) as file:
            np.stack(columns).tofile(file)
            file.flush()
            first, second, third = np.memmap(file, np.uint64, "r", shape=(3, len(order)))
            self._runs.append((first, second, third.view(np.int64)))
        self._last = {}
