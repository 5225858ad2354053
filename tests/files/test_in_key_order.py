"""Rows are sorted on disk as one sort in memory would do it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichone.errors import BadInput
from whichone.files import tables
from whichone.files.tables import TableSchema, in_key_order, sort_rows

ROWS = TableSchema(
    "rows",
    pa.schema([("key", pa.string()), ("n", pa.int64()), ("words", pa.list_(pa.string()))]),
    ("key", "n"),
)
KEYS = ["b", "a", "ba", "\uffff", "\U0001f600", "ä", "z", "", None]  # not in the order of UTF-16


def batches(parts: list[list[tuple[str | None, int]]]) -> Iterator[pa.RecordBatch]:
    for rows in parts:
        listed = [{"key": key, "n": n, "words": [f"{n}", ""][n % 3 :]} for key, n in rows]
        yield from ROWS.from_rows(listed).to_batches()


@pytest.mark.parametrize("in_memory", [0, 3, 1_000])
@settings(max_examples=30)
@given(parts=st.lists(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9)), unique=True)))
def test_many_rows_are_in_the_order_of_one_sort_in_memory(
    tmp_path_factory: pytest.TempPathFactory, in_memory: int, parts: list[list[tuple[str | None, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SORTED_IN_MEMORY", in_memory)
        got = list(in_key_order(batches(parts), ROWS, folder))
        wanted = sort_rows(pa.Table.from_batches(batches(parts), ROWS.schema), ROWS)
        assert pa.Table.from_batches(got, ROWS.schema).equals(wanted.combine_chunks())
        table = pa.Table.from_batches(batches(parts), ROWS.schema)
        again = list(in_key_order(table, ROWS, folder))
    assert pa.Table.from_batches(again, ROWS.schema).equals(wanted.combine_chunks())
    assert list(folder.iterdir()) == []


def test_an_error_while_rows_come_is_the_callers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SORTED_IN_MEMORY", 2)
    rows = [(key, n) for n, key in enumerate("hello")]
    random.Random(1).shuffle(rows)

    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches([rows])
        raise BadInput("not a number", file="qrels.txt", line=7)

    with pytest.raises(BadInput, match="not a number") as caught:
        list(in_key_order(failing(), ROWS, tmp_path))
    assert caught.value.line == 7
    assert list(tmp_path.iterdir()) == []
