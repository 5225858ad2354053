"""Which queries are drawn together when scores are resampled: their clusters, as numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.set_members import first_places
from whichone.benchmarks.stored import StoredQueries
from whichone.files.arrow_records import IN_MEMORY, Seen, Selection, numbers
from whichone.measures.intervals import interval_note
from whichone.records import Query

KINDS = ("name set", "entity", "gold page", "query")


def cluster(query: Query) -> tuple[str, str]:
    """What resampling draws together: name set, else entity, else gold page, else the query."""
    if query.name_set:
        return "name set", query.name_set
    if query.entity:
        return "entity", query.entity
    gold = query.gold_pages()
    return ("gold page", min(gold)) if gold else ("query", query.id)


def cluster_rule(queries: Sequence[Query]) -> str:
    """The kinds of clusters a set of queries has, for the line under a table."""
    kinds = clusters_of(queries).kinds
    return " and ".join(kind for kind in KINDS if kind in kinds)


def cluster_note(queries: Sequence[Query]) -> str:
    """The kind of the intervals over these queries, and of how many clusters they are."""
    return interval_note(cluster_rule(queries), clusters_of(queries).count)


class Clusters(msgspec.Struct, frozen=True):
    """The cluster of each query as a number, and its kind as a place in `KINDS`."""

    numbers: npt.NDArray[np.integer[Any]]
    kind_numbers: npt.NDArray[np.int8]

    @property
    def count(self) -> int:
        """How many clusters there are."""
        present = numbers(int(self.numbers.max(initial=-1)) + 1, np.bool_)
        for start in range(0, len(self.numbers), IN_MEMORY):
            present[self.numbers[start : start + IN_MEMORY]] = True
        return int(np.count_nonzero(present))

    @property
    def kinds(self) -> list[str]:
        return [KINDS[n] for n in np.flatnonzero(np.bincount(self.kind_numbers))]


def clusters_of(queries: Sequence[Query]) -> Clusters:
    """The clusters of these queries; of stored ones they are found once."""
    if isinstance(queries, Selection) and isinstance(queries.records, StoredQueries):
        every = clusters_of(queries.records)
        return Clusters(every.numbers[queries.places], every.kind_numbers[queries.places])
    if isinstance(queries, StoredQueries):
        return queries.once("clusters", lambda: _clusters_on_disk(queries))
    pairs = [cluster(query) for query in queries]
    places = {pair: n for n, pair in enumerate(sorted(set(pairs), key=":".join))}
    kinds = np.array([KINDS.index(kind) for kind, _ in pairs], np.int8)
    return Clusters(np.array([places[pair] for pair in pairs], np.int64), kinds)


def _clusters_on_disk(queries: Sequence[Query]) -> Clusters:
    kinds, places = numbers(len(queries), np.int8), itertools.count()

    def name(query: Query) -> str:
        kind, own = cluster(query)
        kinds[next(places)] = KINDS.index(kind)
        return f"{kind}:{own}"

    return Clusters(first_places(queries, name, Seen()), kinds)
