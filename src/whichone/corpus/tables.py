"""The tables of a corpus."""

from __future__ import annotations

import pyarrow as pa

from whichone.files.tables import TableSchema

KIND = "corpus"

_text = pa.string()

PASSAGES = TableSchema(
    "passages",
    pa.schema(
        [
            ("id", _text),
            ("page", _text),
            ("n", pa.int32()),
            ("title", _text),
            ("text", _text),
            ("source_id", _text),  # what its own corpus calls it; systems may return that too
            ("entity", _text),  # whom it is about, where the source says so
            ("fields", _text),  # JSON, further fields of its source that a search may filter by
        ]
    ),
    ("page", "n"),
)
PAGES = TableSchema(
    "pages",
    pa.schema(
        [
            ("page", _text),
            ("title", _text),
            ("first", pa.int64()),  # the row of its first passage; they follow one another
            ("passages", pa.int32()),
        ]
    ),
    ("page",),
)
NAMES = TableSchema(
    "names",
    pa.schema(
        [
            ("key", _text),  # names.token_key(name)
            ("name", _text),
            ("page", pa.int64()),  # its row in pages
            ("kind", _text),  # title, before comma, redirect, anchor, alias, first sentence
            ("count", pa.int64()),  # anchors: how often; 1 for the others
        ]
    ),
    ("key", "page", "kind", "name"),
)
