"""Records on disk while a command works, and strings that came before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from whichone.errors import BadInput
from whichone.files import arrow_records as seen_file
from whichone.files import mapped
from whichone.files.arrow_records import MappedRecords, RecordColumns, Seen, Selection, Stored, blocks
from whichone.records import Bearer, NameSet, Query
from whichone.training.examples import Example, Negative, Text


def asked(n: int) -> Query:
    return Query(id=str(n), task="qa", input=f"line\nand {n}", attributes={"n": n})


@pytest.mark.parametrize("batch", [1, 3, 8_192])
def test_records_are_read_as_often_as_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    for module in (seen_file, mapped):
        monkeypatch.setattr(module, "BATCH", batch)
    records = MappedRecords(Query, tmp_path / "not yet" / "there")
    assert not records
    records.extend(asked(n) for n in range(4))
    records.append(asked(4))
    assert len(records) == 5
    assert records == [asked(n) for n in range(5)]
    assert records != [asked(0)]
    assert (records[2], records[-1]) == (asked(2), asked(4))
    assert list(records[1:3]) == [asked(1), asked(2)]
    assert list(Selection(records, [4, 0, 4, 1])) == [asked(4), asked(0), asked(4), asked(1)]
    with pytest.raises(IndexError):
        records[5]
    assert list(tmp_path.iterdir()) == []  # its file has no name


def test_every_kind_of_field_comes_back() -> None:
    example = Example(
        id="e", question="?", positive=Text("t", "x" * 3_000_000), negatives=(Negative("bm25", Text("", "y")),),
        gold=("p",),
    )  # fmt: skip
    bearers = (Bearer(entity="Q1", label="", popularity=0.5, pages=("p", "q")), Bearer(entity="Q2"))
    for record in (example, NameSet(id="s", name="n", collection="c", bearers=bearers), asked(1)):
        records: MappedRecords[Any] = MappedRecords(type(record)).extend([record, record])
        assert list(records) == [record, record]
        assert records[1] == record


def test_half_of_a_surrogate_pair_is_named() -> None:
    with pytest.raises(BadInput, match="valid Unicode"):
        list(MappedRecords(Query).extend([asked(1), Query(id="\ud800", task="qa", input="?")]))


def test_a_selection_reads_places() -> None:
    chosen = Selection(MappedRecords(Query).extend(map(asked, range(6))), [5, 0, 5])
    assert [q.id for q in chosen] == ["5", "0", "5"]
    assert [q.id for q in chosen[1:]] == ["0", "5"]
    assert len(chosen) == 3


@pytest.mark.parametrize(("few", "decoded"), [(3, 2), (4, 1)])
def test_of_a_stored_table_few_records_are_kept(
    monkeypatch: pytest.MonkeyPatch, few: int, decoded: int
) -> None:
    monkeypatch.setattr(seen_file, "_FEW", few)
    parts = list[int]()

    def decode(part: int) -> Iterator[Query]:
        parts.append(part)
        yield from map(asked, (2 * part, 2 * part + 1))

    records = Stored(Query, [2, 2], decode)
    for _ in range(3):
        assert list(records) == [asked(n) for n in range(4)]
    assert list(Selection(records, [1, 3])) == [asked(1), asked(3)]
    assert list(Selection(records, [3, 0, 3])) == [asked(3), asked(0), asked(3)]
    assert (records[2], records[-1]) == (asked(2), asked(3))
    assert parts == [0, 1] * decoded


def test_strings_that_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_file, "_RUN", 10)
    seen = Seen()
    for start in range(0, 100, 7):
        block = [f"id {n}" for n in range(start, start + 7)]
        assert seen.add(block, range(start, start + 7)) == [None] * 7
    assert len(seen) == 105
    assert seen.add(["id 3", "new", "id 104", "new"], [1, 2, 3, 4]) == [3, None, 104, 2]
    assert seen.numbers_of(["new", "id 99", "never"]) == [2, 99, None]
    assert len(seen) == 106


def test_many_values_are_in_a_file_and_may_be_changed() -> None:
    few, many = np.full((2, 5), np.nan), np.full((2, 1 << 17), np.nan)
    assert mapped.kept_mapped(few) is few
    row, other = kept = mapped.kept_mapped(many)
    assert isinstance(kept.base, np.memmap)
    row[7] = 0.5
    other[-1] = 1.0
    assert np.nansum(kept) == 1.5
    assert np.isnan(many).all()


def test_blocks() -> None:
    assert list(blocks("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(blocks("", 2)) == []


def test_text_and_numbers_are_columns_and_the_rest_is_json() -> None:
    query = Query(id="q", task="qa", input="?", role="head", attributes={"n": 1})
    columns = RecordColumns(Query).columns([query])
    assert (columns["role"], columns["name"], columns["attributes"]) == (("head",), (None,), ['{"n":1}'])
    assert RecordColumns(Bearer).schema.field("popularity").type == pa.float64()
