"""Tables in several files: cut at fixed rows, read as one, replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from whichone.files import tables
from whichone.files.folder import Folder, file_entry
from whichone.files.tables import TableSchema, part_names, read_batches, write_parts

NUMBERS = TableSchema("numbers", pa.schema([("n", pa.int64())]), ("n",))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 2)
    monkeypatch.setattr(tables, "PART", 4)


def batches(count: int) -> list[pa.RecordBatch]:
    return NUMBERS.from_columns({"n": list(range(count))}).to_batches(3)


@pytest.mark.parametrize(("count", "rows"), [(0, [0]), (3, [3]), (4, [4]), (5, [4, 1]), (12, [4, 4, 4])])
def test_parts_of_fixed_length(count: int, rows: list[int], tmp_path: Path) -> None:
    parts = list(write_parts(tmp_path, batches(count), NUMBERS))
    names = ["numbers.parquet", "numbers-00001.parquet", "numbers-00002.parquet"][: len(rows)]
    assert parts == list(zip(names, rows, strict=True))
    files = {p.name for p in tmp_path.iterdir()}
    assert part_names("numbers", files) == names
    read = read_batches([tmp_path / name for name in names], 100)
    assert [n for batch in read for n in batch["n"].to_pylist()] == list(range(count))


def written(place: Path, count: int) -> Folder:
    with Folder.create(place, "test", extend=True) as folder:
        parts = dict(write_parts(folder.partial, batches(count), NUMBERS))
        entries = {name: file_entry(folder.partial / name, rows) for name, rows in parts.items()}
        folder.adopt_parts("numbers", entries)
        folder.commit()
    return Folder.open(place, "test")


def test_a_folder_reads_them_as_one_table(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", 9)
    assert folder.rows("numbers") == 9
    assert folder.rows("letters") == 0
    assert folder.table("numbers")["n"].to_pylist() == list(range(9))
    assert folder.table("numbers", ["n"]).num_rows == 9
    assert [p.name for p in folder.parts("numbers")] == [
        "numbers.parquet",
        "numbers-00001.parquet",
        "numbers-00002.parquet",
    ]


def test_fewer_parts_replace_more(tmp_path: Path) -> None:
    written(tmp_path / "folder", 9)
    folder = written(tmp_path / "folder", 5)
    assert sorted(p.name for p in folder.root.glob("*.parquet")) == [
        "numbers-00001.parquet",
        "numbers.parquet",
    ]
    assert folder.table("numbers")["n"].to_pylist() == list(range(5))
