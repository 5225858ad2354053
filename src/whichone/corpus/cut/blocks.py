"""Blocks of n tokens of a given tokeniser, such as REALM's 288 word pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import regex

from whichone.corpus.cut.page_text import text_paragraphs
from whichone.errors import Missing, missing_extra

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
    """Disjoint blocks of `size` tokens, as they stand in the text; paragraphs meet at a blank."""
    text = " ".join(text_paragraphs(paragraphs, keep_lists=keep_lists))
    places = tokenizer(text)
    for first in range(0, len(places), size):
        last = places[min(first + size, len(places)) - 1]
        yield text[places[first][0] : last[1]]
