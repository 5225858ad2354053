"""Texts and names as the same pieces, so that the names in a text can be found piece by piece.

Case is folded and compatibility forms are unified as in `names.name_key`; accents and punctuation
stay. A piece is a word, a sign, or one character of a script that writes no blanks (Chinese,
Japanese, Thai, …), and knows whether a blank comes before it. A name is found only where pieces
begin and end: "Ann" is not in "Anna", "Lincoln" is in "Lincoln's".
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import regex

_NO_BLANKS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_PIECE = regex.compile(
    rf"(?V1)[{_NO_BLANKS}]\p{{M}}*|[[\p{{L}}\p{{N}}\p{{M}}]--[{_NO_BLANKS}]]+|[^\s\x1c-\x1f]"
)
_CLUSTER = regex.compile(r"\X")
Hashes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"

_STEP = np.uint64(0x9E3779B97F4A7C15)
_START = np.uint64(0x243F6A8885A308D3)


def folded(text: str) -> tuple[str, Sequence[int] | None]:
    """A text with its case folded, and for each character where it stood (None: where it is)."""
    if text.isascii():
        return text.replace("_", " ").lower(), None
    if unicodedata.is_normalized("NFKC", text):
        low = text.casefold()  # never fewer characters: as many means each stayed in its place
        if len(low) == len(text) and unicodedata.is_normalized("NFKC", low):
            return low.replace("_", " "), None
    pieces: list[str] = []
    places: list[int] = []
    for match in _CLUSTER.finditer(text):
        new = _fold(match.group())
        pieces.append(new)
        places += [match.start()] * len(new)
    places.append(len(text))
    return "".join(pieces), places


@lru_cache(65_536)
def _fold(cluster: str) -> str:
    again = unicodedata.normalize("NFKC", cluster).casefold()
    return unicodedata.normalize("NFKC", again).replace("_", " ")


class Pieces:
    """The pieces of a folded text: where they appear, and their hashes.

    `bare` takes a piece as the beginning of a name, `following` as going on after what is before.
    """

    def __init__(self, text: str) -> None:
        self.spans = [match.span() for match in _PIECE.finditer(text)]
        words = [text[start:end] for start, end in self.spans]
        blank = [b[0] > a[1] for a, b in zip(self.spans, self.spans[1:], strict=False)]
        self.bare = _array([_hash(word) for word in words])
        later = [
            _hash(" " + word if gap else word) for word, gap in zip(words[1:], blank, strict=True)
        ]
        self.following = _array([0, *later] if words else [])

    def __len__(self) -> int:
        return len(self.spans)


def begin(bare: Hashes) -> Hashes:
    """The hashes of names of one piece."""
    return _mixed(bare ^ _START)


def extend(hashes: Hashes, following: Hashes) -> Hashes:
    """The hashes of names that go on by one piece."""
    return _mixed(hashes ^ following)


def name_steps(key: str) -> list[int]:
    """The hashes of a name's pieces: the first as a beginning, the others as following."""
    steps, last = [], -1
    for match in _PIECE.finditer(key):
        word = match.group()
        steps.append(_hash(" " + word if 0 <= last < match.start() else word))
        last = match.end()
    return steps


def name_hashes(key: str) -> Hashes:
    """The hashes of a name's beginnings, its own last; none for a name of no piece."""
    pieces = Pieces(key)
    hashes = begin(pieces.bare[:1])
    for n in range(1, len(pieces)):
        hashes = np.concatenate([hashes, extend(hashes[-1:], pieces.following[n : n + 1])])
    return hashes


def _mixed(hashes: Hashes) -> Hashes:
    mixed = hashes * _STEP
    return mixed ^ (mixed >> np.uint64(29))


def _array(values: Sequence[int]) -> Hashes:
    return np.array(values, dtype=np.uint64)


@lru_cache(262_144)
def _hash(piece: str) -> int:
    data = piece.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
