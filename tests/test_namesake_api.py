"""`whichone.Namesake` over anybody's passages."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import whichone
from whichone.errors import BadInput, UsageError

STAFF = [
    {"id": "1", "title": "Ada Park (Payroll)", "text": "Ada Park works in Payroll, in Leeds."},
    {"id": "2", "title": "Ada Park (Legal)", "text": "Ada Park works in Legal. She is in Turin."},
    {"id": "3", "title": "Bo Lind", "text": "Bo Lind sells bicycles in Oslo."},
]


def test_three_lines() -> None:
    namesake = whichone.Namesake.over(STAFF, encoder="none")
    assert namesake.search("Which Ada Park is in Turin?", 1)[0].passage.source_id == "2"
    assert len(namesake) == 3


def test_tables_names_and_a_folder(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(STAFF)
    namesake = whichone.Namesake.over(table, names={"The Boss": ["3"]}, encoder="none")
    hits = namesake.search_many(["What does The Boss sell?", "Ada Park in Leeds"], 2)
    assert [found[0].passage.source_id for found in hits] == ["3", "1"]
    namesake.save(tmp_path / "index")
    again = whichone.Namesake.open(tmp_path / "index")
    assert again.search("What does The Boss sell?", 2) == hits[0]
    with pytest.raises(UsageError, match="already"):
        namesake.save(tmp_path / "index")


def test_what_is_no_passage() -> None:
    with pytest.raises(BadInput, match="passage 1 is no record"):
        whichone.Namesake.over([STAFF[0], "text"], encoder="none")
    with pytest.raises(BadInput, match="'9', which is no passage"):
        whichone.Namesake.over(STAFF, names={"Nobody": "9"}, encoder="none")
