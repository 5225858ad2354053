"""Name sets numbered by how popular their head is, from a table sorted by set, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_BATCH = 16_384
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class SetNumbers(msgspec.Struct, frozen=True):
    """For each set in the order of the table: its number from 1, its bearers, its popularity gap."""

    number: Integers
    bearers: Integers
    gap: Floats
    """How many times as popular the head is as the next; NaN where fewer than two are known."""


def with_places(table: Path, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, Integers]]:
    """Batches of the sets' table; for each row the place of its set, from 0."""
    last: str | None = None
    place = -1
    with pq.ParquetFile(table) as file:
        for batch in file.iter_batches(_BATCH, columns=["set", *columns]):
            sets = batch.column("set")
            if not len(sets):
                continue
            new = np.ones(len(sets), np.int64)
            new[0] = sets[0].as_py() != last
            new[1:] = pc.not_equal(sets[1:], sets[:-1]).to_numpy(zero_copy_only=False)
            places = place + np.cumsum(new)
            last, place = sets[-1].as_py(), int(places[-1])
            yield batch, places


def number_sets(table: Path) -> SetNumbers:
    """The most popular head first, then by id; a few numbers a set are held in memory."""
    first, second, count = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
    size = 0
    for batch, places in with_places(table, ["popularity"]):
        column = batch.column("popularity").to_numpy(zero_copy_only=False).astype(np.float64)
        known = np.where(np.isnan(column), -np.inf, column)
        base, size = int(places[0]), int(places[-1]) + 1
        if size > len(first):  # twice as much room each time, so that little is copied
            room = max(size, 2 * len(first)) - len(first)
            first, second = (np.append(a, np.full(room, -np.inf)) for a in (first, second))
            count = np.append(count, np.zeros(room, np.int64))
        order = np.lexsort((-known, places))
        ranked, at = known[order], places[order]
        begins = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
        ones = ranked[begins]
        nexts = begins + 1
        inside = (nexts < len(at)) & (at[np.minimum(nexts, len(at) - 1)] == at[begins])
        twos = np.where(inside, ranked[np.minimum(nexts, len(at) - 1)], -np.inf)
        own = slice(base, size)
        second[own] = np.maximum(np.minimum(first[own], ones), np.maximum(second[own], twos))
        first[own] = np.maximum(first[own], ones)
        count[own] += np.diff(np.r_[begins, len(at)])
    first, second, count = first[:size], second[:size], count[:size]
    popular = np.where(np.isinf(first), 0.0, first)
    number = np.empty(len(popular), np.int64)
    number[np.argsort(-popular, kind="stable")] = np.arange(1, len(popular) + 1)
    gap = np.where(np.isinf(second), np.nan, popular / np.maximum(second, 1.0))
    return SetNumbers(number, count, gap)
