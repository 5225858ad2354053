"""Rows in order, however many they are: runs sorted in memory, kept on disk and merged while they are read."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from whichone.files.spool import Spool, blocks

Row = TypeVar("Row", bound=tuple[Any, ...])

RUN = 65_536
"""Rows that are sorted in memory."""
PIECE = 64
"""Rows of each run that are in memory while the runs are merged."""


class SortedRows(Generic[Row]):
    """Tuples of one type, compared as Python compares them; append first, then read as often as wanted."""

    def __init__(self, kind: Any, near: str | Path | None = None) -> None:
        self._pieces: Spool[list[Row]] = Spool(list[kind], near)
        self._runs: list[range] = []
        self._last: list[Row] = []

    def append(self, row: Row) -> None:
        self._last.append(row)
        if len(self._last) >= RUN:
            self._write()

    def extend(self, rows: Iterable[Row]) -> SortedRows[Row]:
        for row in rows:
            self.append(row)
        return self

    def __iter__(self) -> Iterator[Row]:
        if not self._runs:
            return iter(sorted(self._last))
        if self._last:
            self._write()
        return heapq.merge(*map(self._run, self._runs))

    def _write(self) -> None:
        self._last.sort()
        start = len(self._pieces)
        self._pieces.extend(blocks(self._last, PIECE))
        self._runs.append(range(start, len(self._pieces)))
        self._last = []

    def _run(self, run: range) -> Iterator[Row]:
        for piece in run:
            yield from self._pieces[piece]
