"""Runs on disk are merged as one sort in memory would do it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.files import arrow_records
from whichone.files.arrow_records import merged, write_run
from whichone.files.tables import TableSchema, sort_rows

ROWS = TableSchema("rows", pa.schema([("key", pa.string()), ("n", pa.int64())]), ("key", "n"))


def table(rows: list[tuple[str, int]]) -> pa.Table:
    return ROWS.from_rows([{"key": key, "n": n} for key, n in rows])


@given(
    st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", "ba", "ä", "z"]), st.integers(0, 9))))
)
def test_merging_is_sorting(
    tmp_path_factory: pytest.TempPathFactory, given: list[list[tuple[str, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    paths = [folder / f"{number}.arrow" for number in range(len(given))]
    for path, rows in zip(paths, given, strict=True):
        assert write_run(path, table(rows), ROWS) == len(rows)
    parts = list(merged(paths, ROWS))
    together = pa.concat_tables(parts) if parts else ROWS.empty()
    assert together.equals(sort_rows(table([r for rows in given for r in rows]), ROWS))


def test_rows_are_merged_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_records, "_SAMPLE", 4)
    rows = [(f"{n % 50:02}", n) for n in range(1_000)]
    paths = [tmp_path / "even", tmp_path / "odd"]
    write_run(paths[0], table(rows[::2]), ROWS)
    write_run(paths[1], table(rows[1::2]), ROWS)
    parts = list(merged(paths, ROWS, 100))
    assert len(parts) > 5
    assert max(part.num_rows for part in parts) < 300
    assert pa.concat_tables(parts).equals(sort_rows(table(rows), ROWS))
