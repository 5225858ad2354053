"""What a run returned for each question: in memory where it is little, else in a file without a name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichone.errors import BrokenFolder
from whichone.files.arrow_records import KeyedSpool, of_keys
from whichone.files.tables import group_batches

ROWS_IN_MEMORY = 2_500_000
"""Rows of rankings that are kept as lists of strings; where there are more they stay on disk."""
_ROWS = 65_536


def by_question(table: pa.Table | pa.RecordBatch, column: str) -> Iterator[tuple[str, list[str]]]:
    """A column's values for each question of a table in the order of questions and ranks.

    Equal values are one object: most runs return a page many times.
    """
    whole = pa.table(table)
    questions = pc.dictionary_encode(whole["question"].combine_chunks())
    values = pc.dictionary_encode(whole[column].combine_chunks())
    distinct = np.array(values.dictionary.to_pylist(), object)
    places = values.indices.to_numpy()
    owners = questions.indices.to_numpy()
    bounds = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), len(owners)]
    names = questions.dictionary.to_pylist()
    for start, end in itertools.pairwise(bounds):
        yield names[owners[start]], distinct[places[start:end]].tolist()


def stored_rankings(path: Path, column: str, *, once: bool) -> KeyedSpool[list[str]]:
    """The values of one column by question, on disk; of each question `once` takes every value once."""
    rankings = _streamed(path, column)
    return KeyedSpool(
        list[str], ((q, [*dict.fromkeys(values)] if once else values) for q, values in rankings)
    )


def of_many(ranked: Mapping[str, Sequence[str]], questions: Sequence[str]) -> list[Sequence[str]]:
    """The values of each question, none where it has none."""
    return [values or () for values in of_keys(ranked, questions)]


def _streamed(path: Path, column: str) -> Iterator[tuple[str, list[str]]]:
    """The same as `by_question` of a whole file, some rows at a time."""
    last: tuple[str, list[str]] | None = None
    try:
        with pq.ParquetFile(path) as file:
            for batch in group_batches(file, _ROWS, ["question", column]):
                for question, values in by_question(batch, column):
                    if last is not None and last[0] == question:
                        last[1].extend(values)
                        continue
                    if last is not None:
                        yield last
                    last = question, values
    except (pa.ArrowInvalid, OSError) as error:
        raise BrokenFolder(f"not a readable Parquet table: {error}", file=path) from error
    if last is not None:
        yield last
