"""TSV is not CSV: what a quotation mark means in each."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.errors import BadInput
from whichone.files.lines import read_rows, read_table_rows


def rows(path: Path, text: str, delimiter: str) -> list[list[str]]:
    path.write_text(text, "utf-8")
    return [row for _, row in read_rows(path, delimiter)]


def test_a_quotation_mark_in_tsv_is_text(tmp_path: Path) -> None:
    lines = [f'{n}\t"Text {n} opens with a mark\tTitle' for n in range(10)]
    found = rows(tmp_path / "f", "\n".join(lines), "\t")
    assert [row[0] for row in found] == [str(n) for n in range(10)]
    assert found[3][1] == '"Text 3 opens with a mark'


@pytest.mark.parametrize(
    ("field", "read"),
    [
        ('"all of it"', "all of it"),
        ('"with ""marks"" inside"', 'with "marks" inside'),
        ('"two" and "three"', '"two" and "three"'),
        ('"', '"'),
        ('""', ""),
        ('"""', '"""'),
        ('a "b" c', 'a "b" c'),
    ],
)
def test_only_a_field_quoted_as_a_whole_is_unwrapped(tmp_path: Path, field: str, read: str) -> None:
    assert rows(tmp_path / "f", f"1\t{field}\tx\n", "\t") == [["1", read, "x"]]


@given(st.lists(st.text(st.characters(exclude_characters="\t\r\n", codec="utf-8")), min_size=2))
def test_what_a_csv_writer_writes_with_tabs_is_read_back(fields: list[str]) -> None:
    import tempfile

    out = io.StringIO()
    csv.writer(out, delimiter="\t", lineterminator="\n").writerow(fields)
    if out.getvalue().startswith("\ufeff"):
        return  # a byte order mark
    with tempfile.TemporaryDirectory() as folder:
        assert rows(Path(folder) / "f", out.getvalue(), "\t") == [fields]


def test_csv_fields_may_have_lines(tmp_path: Path) -> None:
    text = 'id,text\n1,"two\nlines, and a ""mark"""\n'
    assert rows(tmp_path / "f", text, ",") == [["id", "text"], ["1", 'two\nlines, and a "mark"']]


def test_a_mark_that_never_closes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not CSV"):
        rows(tmp_path / "f", 'id,text\n1,"swallows\n2,the rest\n', ",")


def test_columns_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "f.tsv"
    file.write_text("id\ttext\n1\ta\n2\n3\tc\n")
    with pytest.raises(BadInput, match=r"f\.tsv:3: the line has 1 columns, the header 2"):
        list(read_table_rows(file, "\t"))
    bad: list[str] = []
    assert [r["id"] for _, r in read_table_rows(file, "\t", bad)] == ["1", "3"]
    assert len(bad) == 1
    file.write_text("id\ttext\tid\n1\ta\t2\n")
    with pytest.raises(BadInput, match="columns of the same name"):
        list(read_table_rows(file, "\t"))
