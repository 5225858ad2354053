"""The one table writer: same rows, same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.errors import BrokenFolder, Missing
from whichone.files import tables
from whichone.files.tables import (
    TableSchema,
    connect,
    query_batches,
    read_table,
    tables_sql,
    write_batches,
    write_table,
)

PAIRS = TableSchema("pairs", pa.schema([("key", pa.string()), ("n", pa.int64())]), ("key", "n"))


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-5, 5)), max_size=30), st.randoms())
def test_order_of_rows_does_not_reach_the_bytes(tmp_path_factory, rows, random) -> None:
    folder = tmp_path_factory.mktemp("t")
    shuffled = list(rows)
    random.shuffle(shuffled)
    for name, some in (("a", rows), ("b", shuffled)):
        records = [{"key": key, "n": n} for key, n in some]
        write_table(folder / name, PAIRS.from_rows(records), PAIRS)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_parts_merge_to_the_bytes_of_one_table(tmp_path: Path) -> None:
    rows = [{"key": f"k{n % 97}", "n": n} for n in range(5000)]
    write_table(tmp_path / "whole", PAIRS.from_rows(rows), PAIRS)
    parts = []
    for i in range(3):
        parts.append(tmp_path / f"part-{i}.parquet")
        pq.write_table(PAIRS.from_rows(rows[i::3]), parts[-1])
    with connect(spill=tmp_path) as connection:
        batches = query_batches(connection, f"select * from {tables_sql(parts)}", PAIRS)
        write_batches(tmp_path / "merged", batches, PAIRS)
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / ".spill").exists()


def test_row_groups_are_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 100)
    write_table(tmp_path / "t", PAIRS.from_rows([{"key": "a", "n": n} for n in range(250)]), PAIRS)
    metadata = pq.read_metadata(tmp_path / "t")
    assert [metadata.row_group(i).num_rows for i in range(3)] == [100, 100, 50]


def test_unreadable_tables(tmp_path: Path) -> None:
    with pytest.raises(Missing):
        read_table(tmp_path / "none")
    (tmp_path / "broken").write_bytes(b"PAR1 not really")
    with pytest.raises(BrokenFolder, match="not a readable"):
        read_table(tmp_path / "broken")


WITHOUT_PANDAS = """
import sys
import pyarrow as pa
from whichone.files.tables import TableSchema
table = TableSchema.of("t", ("a",), ("a", pa.int64())).from_rows([{"a": 1}, {"a": 2}])
assert "pandas" not in sys.modules
frame = table.to_pandas()
import pandas
assert list(frame["a"]) == [1, 2]
assert pa.array(pandas.Series([1.0, float("nan")])).null_count == 1
assert pa.Table.from_pandas(frame).equals(table)
"""


def test_arrow_imports_pandas_only_for_those_who_use_it() -> None:
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=True)
