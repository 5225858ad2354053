"""Parts of a large array: a record's end is found wherever it lies."""

from __future__ import annotations

import json
from pathlib import Path

from whichone.files.json_records import parts

READ_AT_ONCE = 1 << 18


def test_a_record_that_ends_where_two_reads_meet(tmp_path: Path) -> None:
    """The search reads a quarter of a megabyte at a time, from the place where a part is large enough."""
    file = tmp_path / "array.json"
    for more in range(-24, 24, 3):
        records = [{"a": letter * (2 * READ_AT_ONCE + more)} for letter in "xyz"]
        file.write_text(json.dumps(records))
        found = [json.loads(part.array()) for part in parts(file, 16)]
        assert found == [[record] for record in records], more
