"""The queries of each name set, read together with the set: of a large benchmark some sets at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whichone.benchmarks.stored import StoredQueries
from whichone.files.seen import Seen
from whichone.files.spool import IN_MEMORY, Selection, blocks, numbers
from whichone.records import NameSet, Query

_BLOCK = 4_096

Numbers = npt.NDArray[np.integer[Any]]


class WithSets(Protocol):
    """A benchmark, as far as it is needed here."""

    @property
    def queries(self) -> Sequence[Query]: ...
    @property
    def sets(self) -> Sequence[NameSet]: ...


class AskedSets:
    """The name sets of queries as numbers, -1 for a query without one, and the number of a set by its id."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self.numbers: Numbers = numbers(len(queries), np.int64, -1)
        self._places = Seen()
        place = 0
        for block in blocks(queries, _BLOCK):
            rows = [place + n for n, query in enumerate(block) if query.name_set is not None]
            keys = [query.name_set for query in block if query.name_set is not None]
            for row, first in zip(rows, self._places.add(keys, rows), strict=True):
                self.numbers[row] = row if first is None else first
            place += len(block)

    def of(self, sets: Sequence[str]) -> list[int | None]:
        """The number of each set, which is the place of its first query; None where no query has it."""
        return self._places.numbers(sets)


def asked_sets(queries: Sequence[Query]) -> AskedSets:
    """The name sets of queries; of stored ones they are found once."""
    if not isinstance(queries, StoredQueries):
        return AskedSets(queries)
    if "sets" not in queries.kept:
        queries.kept["sets"] = AskedSets(queries)
    kept: AskedSets = queries.kept["sets"]
    return kept


def set_numbers(queries: Sequence[Query]) -> Numbers:
    """The name set of each query as the place of the set's first query; -1 for those without one."""
    if isinstance(queries, Selection) and isinstance(queries.records, StoredQueries):
        chosen: Numbers = asked_sets(queries.records).numbers[queries.places]
        return chosen
    return asked_sets(queries).numbers


def rows_of_sets(asked: Numbers, wanted: Iterable[int]) -> npt.NDArray[np.int64]:
    """The places of the queries of some sets, by the sets' numbers."""
    chosen = np.array(sorted(wanted), np.int64)
    parts = [
        start + np.flatnonzero(np.isin(asked[start : start + IN_MEMORY], chosen))
        for start in range(0, len(asked), IN_MEMORY)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def members(benchmark: WithSets) -> Iterator[list[tuple[NameSet, list[Query]]]]:
    """Blocks of name sets in their order, each with its queries in theirs; sets that nobody asks about are left out."""
    return ([(s, queries) for s, _, queries in block] for block in members_with_rows(benchmark))


def members_with_rows(
    benchmark: WithSets,
) -> Iterator[list[tuple[NameSet, npt.NDArray[np.int64], list[Query]]]]:
    """The same with the places of the queries among all."""
    queries = benchmark.queries
    asked = asked_sets(queries)
    order = numbers(len(queries), np.int64)
    order[:] = np.argsort(asked.numbers, kind="stable")
    in_order = numbers(len(queries), np.int64)
    in_order[:] = asked.numbers[order]
    for block in blocks(benchmark.sets, _BLOCK):
        known = [(s, n) for s, n in zip(block, asked.of([s.id for s in block]), strict=True)]
        sets = [(s, n) for s, n in known if n is not None]
        places = np.array([n for _, n in sets], np.int64)
        starts = np.searchsorted(in_order, places, "left")
        ends = np.searchsorted(in_order, places, "right")
        rows = [order[start:end] for start, end in zip(starts, ends, strict=True)]
        every = list(Selection(queries, np.concatenate([np.empty(0, np.int64), *rows])))
        bounds = pairwise(np.cumsum([0, *map(len, rows)]).tolist())
        yield [
            (s, places_of, every[a:b])
            for (s, _), places_of, (a, b) in zip(sets, rows, bounds, strict=True)
        ]
