"""The entries of an array inside an object, whatever their texts contain and wherever a part ends."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest

from whichone.errors import BadInput
from whichone.files.json_records import entries, records_under

RECORDS = [
    {"id": 1, "text": 'a "quoted" ] text, with [ brackets } and a \\ backslash \\'},
    {"id": 2, "list": [1, [2, {"deep": ["]", "}"]}], 3], "text": "é, 日本"},
    "a text, alone",
    [],
    {"id": 3, "text": "\\\\"},
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
def test_every_cut(size: int, indent: int | None) -> None:
    document = {"Domain": "x", "Data": RECORDS, "Version": [1, 2]}
    raw = json.dumps(document, indent=indent).encode()
    parts = list(entries(io.BytesIO(raw), b"Data", size))
    assert [r for part in parts for r in msgspec.json.decode(part)] == RECORDS
    assert len(parts) > 1 or size > 7


def test_no_such_array_and_damage(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    for text in ("", "{}", '{"Other": []}', '{"Data": [{"id": 1}', "no JSON"):
        file.write_text(text)
        with pytest.raises(BadInput, match=r"questions\.json"):
            list(records_under(file, "Data"))
    file.write_text('{"Data": []}')
    assert list(records_under(file, "Data")) == []
