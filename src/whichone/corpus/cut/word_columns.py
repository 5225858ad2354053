"""DPR's passages of many pages at once: what `word_passages` gives, in a third of the time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichone.knowledge.tables import BULLET, SECTION

_SEPARATORS = (b"\x1c", b"\x1d", b"\x1e", b"\x1f")  # blanks to Python, not to Arrow's ASCII


def word_columns(paragraphs: pa.ListArray, size: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each passage the row of its page, its number on that page, and its text."""
    ends = paragraphs.offsets.to_numpy().astype(np.int64)
    lines = paragraphs.values.slice(ends[0], ends[-1] - ends[0])
    ends -= ends[0]
    trim, split = _blanks(lines)
    lines = trim(lines)
    kept = np.asarray(pc.binary_length(lines)) > 0
    for mark in (BULLET, SECTION):
        kept &= ~np.asarray(pc.starts_with(lines, mark))
    kept[ends[:-1][np.diff(ends) > 0]] = False  # the first paragraph is the title
    words = split(lines.filter(pa.array(kept)))
    line_ends = words.offsets.to_numpy().astype(np.int64)
    page_ends = line_ends[np.concatenate(([0], np.cumsum(kept)))[ends]]
    passages = -(-np.diff(page_ends) // size)
    rows = np.repeat(np.arange(len(passages)), passages)
    numbers = np.arange(len(rows)) - (np.cumsum(passages) - passages)[rows]
    cuts = np.append(page_ends[rows] + numbers * size, page_ends[-1])
    stretches = pa.ListArray.from_arrays(pa.array(cuts, pa.int32()), words.values)
    return pa.array(rows), pa.array(numbers, pa.int32()), pc.binary_join(stretches, " ")


def _blanks(lines: pa.StringArray):  # type: ignore[no-untyped-def]
    """How to trim and to split: by bytes where that comes to the same."""
    data = lines.buffers()[2]
    raw = data.to_pybytes() if data is not None else b""
    if raw.isascii() and not any(mark in raw for mark in _SEPARATORS):
        return pc.ascii_trim_whitespace, pc.ascii_split_whitespace
    return pc.utf8_trim_whitespace, pc.utf8_split_whitespace
