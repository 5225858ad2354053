"""Records by their keys, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.files import arrow_records
from whichone.files.arrow_records import KeyedSpool, keyed, of_keys


@pytest.mark.parametrize("run", [4, 1 << 17])
def test_records_by_key_and_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: int
) -> None:
    monkeypatch.setattr(arrow_records, "_KEYED_SPOOL_BLOCK", 3)
    monkeypatch.setattr(arrow_records, "_RUN", run)
    pairs = [(f"é {n}", [n, n]) for n in range(30)]
    records = KeyedSpool(list[int], iter(pairs), tmp_path / "out")
    assert records.many(["é 15", "never", "é 3"]) == [[15, 15], None, [3, 3]]
    assert records["é 29"] == [29, 29]
    assert "never" not in records
    with pytest.raises(KeyError, match="never"):
        records["never"]
    assert len(records) == 30
    assert list(records.items()) == pairs
    assert list(records.values()) == [value for _, value in pairs]
    assert dict(records) == dict(pairs)
    assert list(tmp_path.iterdir()) == []
    assert KeyedSpool(int, []).many(["a"]) == [None]


def test_the_first_record_of_a_key_counts() -> None:
    records = KeyedSpool(int, [("a", 1), ("b", 2), ("a", 3)])
    assert records.many(["b", "a"]) == [2, 1]


def test_few_are_a_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_records, "IN_MEMORY", 2)
    few, many = (keyed(int, ((str(n), n) for n in range(count))) for count in (2, 3))
    assert few == {"0": 0, "1": 1}
    assert isinstance(many, KeyedSpool)
    assert of_keys(few, ["1", "2"]) == [1, None]
    assert of_keys(many, ["1", "2", "3"]) == [1, 2, None]
