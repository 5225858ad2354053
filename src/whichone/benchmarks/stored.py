"""Queries and name sets of a benchmark that has too many of them to keep: read from disk by their place or id."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.write_tables import BLOCK, queries_of_file, queries_of_table
from whichone.errors import BrokenFolder
from whichone.files.arrow_records import KeyedSpool, OnDisk, Spool
from whichone.records import NameSet, Query

T = TypeVar("T")


class StoredQueries(OnDisk[Query]):
    """The queries of a table; of those that are asked for by their place one row group is in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            metadata = pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise BrokenFolder(f"not a readable Parquet table: {error}", file=path) from error
        rows = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        self._starts = np.cumsum([0, *rows])
        self._group: tuple[int, pa.Table] | None = None
        self._computed: dict[str, Any] = {}

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __iter__(self) -> Iterator[Query]:
        return queries_of_file(self._path)

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What is computed over all of them, the first time that it is asked for."""
        if name not in self._computed:
            self._computed[name] = compute()
        computed: T = self._computed[name]
        return computed

    def _at(self, number: int) -> Query:
        return next(self._in_groups(np.array([number])))

    def chosen(self, places: npt.NDArray[Any]) -> Iterator[Query]:
        if len(places) < 2 or bool((np.diff(places) >= 0).all()):
            return self._in_groups(places)
        return self._lines.chosen(places)

    @functools.cached_property
    def _lines(self) -> Spool[Query]:
        """All of them as lines: a few of many row groups in any order would read each group many times."""
        return Spool(Query).extend(self)

    def _in_groups(self, places: npt.NDArray[Any]) -> Iterator[Query]:
        for start in range(0, len(places), BLOCK):
            part = np.asarray(places[start : start + BLOCK], np.int64)
            groups = np.searchsorted(self._starts, part, "right") - 1
            bounds = [*np.flatnonzero(np.diff(groups, prepend=-1)).tolist(), len(part)]
            for first, last in pairwise(bounds):
                group = int(groups[first])
                rows = part[first:last] - self._starts[group]
                yield from queries_of_table(self._rows_of(group).take(pa.array(rows)))

    def _rows_of(self, group: int) -> pa.Table:
        if self._group is None or self._group[0] != group:
            with pq.ParquetFile(self._path) as file:
                self._group = group, file.read_row_group(group)
        return self._group[1]


def once(queries: Sequence[Query], name: str, compute: Callable[[], T]) -> T:
    """What is computed over queries; over stored ones a single time."""
    return queries.once(name, compute) if isinstance(queries, StoredQueries) else compute()


class StoredSets(KeyedSpool[NameSet]):
    """Name sets as lines on disk, looked up by their ids."""

    def __init__(self, sets: Iterable[NameSet]) -> None:
        super().__init__(NameSet, ((s.id, s) for s in sets))

    def many(self, keys: Sequence[str]) -> list[NameSet | None]:
        """The set of each id, None where there is none: each is read once."""
        distinct = list(dict.fromkeys(filter(None, keys)))
        known = dict(zip(distinct, super().many(distinct), strict=True))
        return [known.get(key) for key in keys]
