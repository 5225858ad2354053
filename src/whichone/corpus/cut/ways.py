"""The ways to cut a page: DPR's disjoint stretches of words, blocks of a tokeniser's tokens, the whole page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex

from whichone.errors import Missing, missing_extra
from whichone.knowledge.tables import BULLET, SECTION

_MARK = re.compile(r"(?:-|\d+\.)[ ]?")


def text_paragraphs(
    paragraphs: Sequence[str], *, keep_lists: bool = False, keep_headings: bool = False
) -> Iterator[str]:
    """The paragraphs that are text; the title is not, list items and headings on demand."""
    for paragraph in paragraphs[1:]:
        line = paragraph.strip()
        if line.startswith(BULLET):
            line = _MARK.sub("", line.removeprefix(BULLET), count=1) if keep_lists else ""
        elif line.startswith(SECTION):
            line = line.removeprefix(SECTION).replace(".:", ": ") if keep_headings else ""
        if line:
            yield line


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


def whole_page(paragraphs: Sequence[str], *, keep_lists: bool = True) -> Iterator[str]:
    """All of a page's text; headings too, as nothing is cut away by a length."""
    text = "\n".join(text_paragraphs(paragraphs, keep_lists=keep_lists, keep_headings=True))
    if text:
        yield text


WORDS = 100


def word_passages(
    paragraphs: Sequence[str], *, size: int = WORDS, keep_lists: bool = False
) -> Iterator[str]:
    """Words are what blanks separate; the last stretch is as short as it is."""
    words: list[str] = []
    for line in text_paragraphs(paragraphs, keep_lists=keep_lists):
        words += line.split()
    for start in range(0, len(words), size):
        yield " ".join(words[start : start + size])


SIZE = 288
Tokenizer = Callable[[str], Sequence[tuple[int, int]]]
"""A text to the places (start, end) of its tokens."""

_BLANKS = regex.compile(r"\S+")


def whitespace(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _BLANKS.finditer(text)]


def load_tokenizer(name: str) -> Tokenizer:
    """`whitespace`, or the path of a Hugging Face `tokenizer.json`."""
    if name == "whitespace":
        return whitespace
    try:
        from tokenizers import Tokenizer as Loaded
    except ImportError:
        raise missing_extra("tokenizers", "dense") from None
    if not Path(name).is_file():
        raise Missing("no such tokeniser file", where=name, hint="whitespace, or a tokenizer.json")
    loaded = Loaded.from_file(name)
    loaded.no_truncation()

    def tokens(text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = loaded.encode(text, add_special_tokens=False).offsets
        return [(start, end) for start, end in offsets if end > start]

    return tokens


def token_blocks(
    paragraphs: Sequence[str],
    *,
    size: int = SIZE,
    tokenizer: Tokenizer = whitespace,
    keep_lists: bool = False,
) -> Iterator[str]:
    """Disjoint blocks of `size` tokens, as written in the text; paragraphs meet at a blank."""
    text = " ".join(text_paragraphs(paragraphs, keep_lists=keep_lists))
    places = tokenizer(text)
    for first in range(0, len(places), size):
        last = places[min(first + size, len(places)) - 1]
        yield text[places[first][0] : last[1]]
