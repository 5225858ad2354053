"""The tables of a benchmark."""

from __future__ import annotations

import pyarrow as pa

from whichone.files.tables import TableSchema

KIND = "benchmark"

_text, _texts = pa.string(), pa.list_(pa.string())

QUERIES = TableSchema(
    "queries",
    pa.schema(
        [
            ("id", _text),
            ("task", _text),
            ("input", _text),
            ("language", _text),
            ("mention", _text),
            ("name", _text),
            ("name_set", _text),
            ("role", _text),
            ("relation", _text),
            ("entity", _text),
            ("gold_pages", _texts),
            ("outputs", _text),  # JSON, a list of records.Output
            ("attributes", _text),  # JSON, every other field of its source
            ("place", pa.int64()),  # order in the source: files go out as they came in
        ]
    ),
    ("place", "id"),
)
SETS = TableSchema(
    "sets",
    pa.schema(
        [
            ("set", _text),
            ("name", _text),
            ("collection", _text),
            ("rank", pa.int32()),  # 0 is the head
            ("entity", _text),
            ("label", _text),
            ("role", _text),
            ("popularity", pa.float64()),
            ("types", _texts),
            ("pages", _texts),
        ]
    ),
    ("set", "rank", "entity"),
)
