"""Records by their keys, in a table that is mapped."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from whichone.files import arrow_records
from whichone.files.arrow_records import KeyedTable, lists_of, mapped_index, of_keys

TEXTS = pa.list_(pa.string())


def listed(table: pa.Table) -> list[list[str]]:
    return lists_of(table["value"])


@pytest.mark.parametrize("batch", [4, 8_192])
def test_records_by_key_and_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, batch: int) -> None:
    monkeypatch.setattr(arrow_records, "BATCH", batch)
    monkeypatch.setattr("whichone.files.mapped.BATCH", batch)
    pairs = [(f"é {n}", [str(n)] * (n % 3)) for n in range(30)]
    records = KeyedTable.of_pairs(iter(pairs), TEXTS, listed, tmp_path / "out")
    assert records.many(["é 16", "never", "é 2", "é 3"]) == [["16"], None, ["2", "2"], []]
    assert records["é 29"] == ["29", "29"]
    assert "never" not in records
    with pytest.raises(KeyError, match="never"):
        records["never"]
    assert len(records) == 30
    assert list(records.items()) == pairs
    assert list(records.values()) == [value for _, value in pairs]
    assert records == dict(pairs)
    assert list(tmp_path.iterdir()) == []
    lengths = records.decoded(lambda table: map(len, listed(table)))
    assert lengths.many(["é 5"]) == [2]
    assert of_keys(records, ["é 4", "no"]) == of_keys(dict(pairs), ["é 4", "no"]) == [["4"], None]


def test_nothing() -> None:
    records = KeyedTable.of_pairs([], TEXTS, listed)
    assert records.many(["a"]) == [None]
    assert (len(records), dict(records)) == (0, {})


def test_the_first_record_of_a_key_counts() -> None:
    records = KeyedTable.of_pairs([("a", ["1"]), ("b", ["2"]), ("a", ["3"])], TEXTS, listed)
    assert records.many(["b", "a"]) == [["2"], ["1"]]


def test_rows_without_a_text_have_no_place_in_an_index() -> None:
    index = mapped_index([pa.record_batch({"who": ["x", None]}), pa.record_batch({"who": ["x"]})], "who")
    assert index.rows("x").tolist() == [0, 2]
    assert len(index) == 2
