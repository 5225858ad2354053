"""Rows sorted on disk."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.files import arrow_records
from whichone.files.arrow_records import SortedRows


@pytest.mark.parametrize(("run", "piece"), [(1, 1), (10, 3), (10, 10), (99, 64), (100, 7)])
def test_rows_of_many_runs_are_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: int, piece: int
) -> None:
    monkeypatch.setattr(arrow_records, "SORTED_ROWS_RUN", run)
    monkeypatch.setattr(arrow_records, "PIECE", piece)
    letters = ["b", "a", "\uffff", "\U0001f600", "é", ""]  # not in the order of UTF-16
    rows = [(letters[n * 7 % 6], n, [f"line\n{n}"]) for n in range(100)]
    random.Random(1).shuffle(rows)
    kept: SortedRows[tuple[str, int, list[str]]] = SortedRows(
        tuple[str, int, list[str]], tmp_path / "out"
    )
    kept.extend(rows)
    assert list(kept) == sorted(rows)
    assert list(kept) == sorted(rows)  # as often as wanted
    assert list(tmp_path.iterdir()) == []


def test_no_rows_and_texts_that_no_file_can_contain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_records, "SORTED_ROWS_RUN", 2)
    rows: SortedRows[tuple[str]] = SortedRows(tuple[str])
    assert list(rows) == []
    with pytest.raises(BadInput, match="not valid Unicode"):
        rows.extend([("a",), ("\ud800",)])
