"""The queries of each name set, read together with the set: of a large benchmark some sets at a time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whichone.benchmarks.stored import StoredQueries, once
from whichone.files.arrow_records import IN_MEMORY, Seen, Selection, blocks, numbers
from whichone.records import NameSet, Query

_BLOCK = 4_096

Numbers = npt.NDArray[np.integer[Any]]


class WithSets(Protocol):
    """A benchmark, as far as it is needed here."""

    @property
    def queries(self) -> Sequence[Query]: ...
    @property
    def sets(self) -> Sequence[NameSet]: ...


def first_places(
    queries: Sequence[Query], key: Callable[[Query], str | None], seen: Seen
) -> Numbers:
    """For each query the place of the first one with its key, -1 where it has none; `seen` knows the keys afterwards."""
    firsts, start = numbers(len(queries), np.int64, -1), 0
    for block in blocks(queries, _BLOCK):
        keys = {
            start + n: text for n, query in enumerate(block) if (text := key(query)) is not None
        }
        for row, first in zip(keys, seen.add([*keys.values()], [*keys]), strict=True):
            firsts[row] = row if first is None else first
        start += len(block)
    return firsts


class AskedSets:
    """The name sets of queries as numbers, -1 for a query without one, and the number of a set by its id."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._places = Seen()
        self.numbers = first_places(queries, lambda query: query.name_set, self._places)

    def of(self, sets: Sequence[str]) -> list[int | None]:
        """The number of each set, which is the place of its first query; None where no query has it."""
        return self._places.numbers(sets)


def asked_sets(queries: Sequence[Query]) -> AskedSets:
    """The name sets of queries; of stored ones they are found once."""
    return once(queries, "sets", lambda: AskedSets(queries))


def set_numbers(queries: Sequence[Query]) -> Numbers:
    """The name set of each query as the place of the set's first query; -1 for those without one."""
    if isinstance(queries, Selection) and isinstance(queries.records, StoredQueries):
        chosen: Numbers = asked_sets(queries.records).numbers[queries.places]
        return chosen
    return asked_sets(queries).numbers


def asked_together(queries: Sequence[Query]) -> Iterator[list[Query]]:
    """The queries of each name set, in their order; those without one are left out."""
    asked = set_numbers(queries)
    order = numbers(len(queries), np.int64)
    order[:] = np.argsort(asked, kind="stable")
    with_set = order[int((asked < 0).sum()) :]
    chosen = zip(map(int, asked[with_set]), Selection(queries, with_set), strict=True)
    for _, group in groupby(chosen, key=operator.itemgetter(0)):
        yield [query for _, query in group]


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
