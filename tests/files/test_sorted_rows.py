"""Rows sorted on disk, and values looked up by their names."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from whichone.errors import BadInput
from whichone.files import hash_index, lookup, sorted_rows
from whichone.files.lookup import Lookup
from whichone.files.sorted_rows import SortedRows


@pytest.mark.parametrize(("run", "piece"), [(1, 1), (10, 3), (10, 10), (99, 64), (100, 7)])
def test_rows_of_many_runs_are_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: int, piece: int
) -> None:
    monkeypatch.setattr(sorted_rows, "RUN", run)
    monkeypatch.setattr(sorted_rows, "PIECE", piece)
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
    monkeypatch.setattr(sorted_rows, "RUN", 2)
    rows: SortedRows[tuple[str]] = SortedRows(tuple[str])
    assert list(rows) == []
    with pytest.raises(BadInput, match="not valid Unicode"):
        rows.extend([("a",), ("\ud800",)])


@pytest.mark.parametrize("in_memory", [4, 1 << 18])
def test_values_are_looked_up_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, in_memory: int
) -> None:
    monkeypatch.setattr(hash_index, "_IN_MEMORY", in_memory)
    monkeypatch.setattr(lookup, "_BLOCK", 3)
    pairs = [(f"é {n % 20}", [n, n]) for n in range(30)]
    values: Lookup[list[int]] = Lookup(list[int], pairs, tmp_path)
    asked = values.get(["é 15", "never", "é 3"])
    assert asked == {"é 15": [[15, 15]], "é 3": [[3, 3], [23, 23]]}
    assert values.get([]) == {}
    assert Lookup(str, [], tmp_path).get(["a"]) == {}
    assert list(tmp_path.iterdir()) == []


def test_names_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    same = lambda texts: np.zeros(len(list(texts)), np.uint64)  # noqa: E731
    monkeypatch.setattr(hash_index, "hashes", same)
    monkeypatch.setattr(lookup, "hashes", same)
    values: Lookup[int] = Lookup(int, [("a", 1), ("b", 2), ("a", 3)])
    assert values.get(["b", "a", "c"]) == {"b": [2], "a": [1, 3]}
