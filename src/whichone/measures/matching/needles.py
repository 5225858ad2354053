"""Looking for an answer in passages that are still raw, lower-cased JSON strings, one a line.

Every passage that contains the answer shows a certain piece of ASCII, so one search for that piece
over all passages of a question leaves few to decode. The search is exact as long as
- the case of ASCII letters is ignored;
- a passage with an ASCII letter or digit written as an escape (`\\u0041`) is decoded;
- a passage with a Kelvin sign is decoded: the one character beyond ASCII whose lower case is ASCII.
Where the whole answer appears there verbatim between two ASCII characters that belong to no word,
no decoding is needed at all.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

import msgspec

from whichone.text.normalisers import TOKEN

_ASCII_RUN = re.compile(r"[a-z0-9]+(?![^\x00-\x7f])")
_VERBATIM = re.compile(r"[a-z0-9 .,;:'&()!?+*#%$@_-]+")  # never escaped in JSON
_HIDDEN = re.compile(rb"\\u(?:00[3-7]|212a)")
_KELVIN_SIGN = re.compile("\u212a".encode())
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_BETWEEN = frozenset(range(128)) - _WORD - frozenset(b"\\")
_QUOTE = ord('"')
_LONGEST_ESCAPE = 6
_SHORT = 5


class Lines(msgspec.Struct, frozen=True):
    """Raw JSON strings, lower-cased, one a line; `ends` are the places after each line's end."""

    text: bytes
    ends: list[int]


def as_lines(strings: Sequence[msgspec.Raw]) -> Lines | None:
    """None when not all are strings (a title may be null)."""
    views = [memoryview(string) for string in strings]
    if {view[0] for view in views} - {_QUOTE}:
        return None
    ends = list(accumulate([view.nbytes + 1 for view in views]))
    return Lines(b"\n".join(views).lower(), ends)


class Needle(msgspec.Struct, frozen=True):
    """A piece of ASCII that a passage must show to hold an answer.

    `word_start`, `word_end`: the piece appears at the start or end of its token. `verbatim` is the
    whole answer where it is plain ASCII, `offset` the place of the piece in it.
    """

    piece: bytes
    word_start: bool
    word_end: bool
    verbatim: bytes | None
    offset: int

    def found_in(self, lines: Lines) -> tuple[set[int], set[int]]:
        """Numbers of the lines that contain the answer, and of those that must be looked at."""
        certain: set[int] = set()
        possible: set[int] = set()
        text, ends = lines.text, lines.ends
        search = self._search(text)
        at = search(0)
        while at >= 0:
            if self._stands_verbatim(text, at):
                line = bisect(ends, at)
                certain.add(line)
                at = search(ends[line])
                continue
            if self._may_be_the_token(text, at):
                possible.add(bisect(ends, at))
            at = search(at + 1)
        return certain, possible - certain

    def _search(self, text: bytes) -> Callable[[int], int]:
        """Finds the next place of the piece at or after a position; -1 when there is none."""
        if len(self.piece) >= _SHORT:
            return partial(text.find, self.piece)
        ending = rb"(?![a-z0-9])" if self.word_end else b""
        starting = rb"(?:(?<![a-z0-9]%b)|(?<=\\[bfnrt]%b)|(?<=\\u[0-9a-f]{4}%b))"
        starting = starting.replace(b"%b", self.piece) if self.word_start else b""
        pattern = re.compile(self.piece + starting + ending)  # short pieces appear in many words

        def search(start: int) -> int:
            match = pattern.search(text, start)
            return -1 if match is None else match.start()

        return search

    def _stands_verbatim(self, lines: bytes, at: int) -> bool:
        if self.verbatim is None:
            return False
        start = at - self.offset
        return (
            start > 0
            and lines.startswith(self.verbatim, start)
            and lines[start - 1] in _BETWEEN
            and lines[start + len(self.verbatim)] in _BETWEEN
        )

    def _may_be_the_token(self, lines: bytes, at: int) -> bool:
        """False when a letter or digit beside the piece shows that it is part of another word."""
        if self.word_end and lines[at + len(self.piece)] in _WORD:
            return False
        if self.word_start and lines[at - 1] in _WORD:
            return b"\\" in lines[max(0, at - _LONGEST_ESCAPE) : at]
        return True


def needle(answer: str) -> Needle | None:
    """The needle of a decomposed answer; None when no piece of ASCII is sure to show.

    The character before a non-ASCII one may be part of a composed letter in the passage, so it
    is left out of the piece.
    """
    runs = [
        (match.end() - match.start(), token, match)
        for token in TOKEN.finditer(answer)
        for match in _ASCII_RUN.finditer(token.group().lower())
    ]
    if not runs:
        return None
    _, token, run = max(runs, key=lambda scored: scored[0])
    plain = answer.isascii() and _VERBATIM.fullmatch(answer.lower()) is not None
    return Needle(
        piece=run.group().encode(),
        word_start=run.start() == 0,
        word_end=run.end() == len(token.group().lower()),
        verbatim=answer.strip().lower().encode() if plain else None,
        offset=token.start() + run.start() - (len(answer) - len(answer.lstrip())),
    )


def hidden_lines(lines: Lines) -> set[int]:
    """Numbers of the lines in which a byte search may overlook a piece."""
    text = lines.text
    places = [match.start() for match in _HIDDEN.finditer(text)]
    if not text.isascii():
        places += [match.start() for match in _KELVIN_SIGN.finditer(text)]
    return {bisect(lines.ends, at) for at in places}
