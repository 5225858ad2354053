"""Looking for an answer in passages that are still raw, lower-cased JSON strings, one a line.

Every passage that holds the answer shows a certain piece of ASCII, so one search for that piece
over all passages of a question leaves few to decode. The search is exact as long as
- the case of ASCII letters is ignored;
- a passage with an ASCII letter or digit written as an escape (`\\u0041`) is decoded;
- a passage with a Kelvin sign is decoded: the one character beyond ASCII whose lower case is ASCII.
Where the whole answer stands there verbatim between two ASCII characters that belong to no word,
no decoding is needed at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from whichone.text.drqa import TOKEN

_ASCII_RUN = re.compile(r"[a-z0-9]+(?![^\x00-\x7f])")
_VERBATIM = re.compile(r"[a-z0-9 .,;:'&()!?+*#%$@_-]+")  # never escaped in JSON
_HIDDEN = re.compile(rb"\\u(?:00[3-7]|212a)")
_KELVIN_SIGN = "\u212a".encode()
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_BETWEEN = frozenset(range(128)) - _WORD - frozenset(b"\\")
_LONGEST_ESCAPE = 6
_SHORT = 5


class Needle(msgspec.Struct, frozen=True):
    """A piece of ASCII that a passage must show to hold an answer.

    `word_start`, `word_end`: the piece stands at the start or end of its token. `verbatim` is the
    whole answer where it is plain ASCII, `offset` the place of the piece in it.
    """

    piece: bytes
    word_start: bool
    word_end: bool
    verbatim: bytes | None
    offset: int

    def found_in(self, lines: bytes) -> tuple[set[int], set[int]]:
        """Numbers of the lines that hold the answer, and of those that must be looked at."""
        certain: set[int] = set()
        possible: set[int] = set()
        line = counted = 0
        for at in self._occurrences(lines):
            certainly = self._stands_verbatim(lines, at)
            if certainly or self._may_be_the_token(lines, at):
                line += lines.count(b"\n", counted, at)
                counted = at
                (certain if certainly else possible).add(line)
        return certain, possible - certain

    def _occurrences(self, lines: bytes) -> Iterator[int]:
        if len(self.piece) < _SHORT:  # too many to test one by one
            ending = rb"(?![a-z0-9])" if self.word_end else b""
            starting = rb"(?:(?<![a-z0-9]%b)|(?<=\\[bfnrt]%b)|(?<=\\u[0-9a-f]{4}%b))"
            starting = starting.replace(b"%b", self.piece) if self.word_start else b""
            for match in re.finditer(self.piece + starting + ending, lines):
                yield match.start()
            return
        at = lines.find(self.piece)
        while at >= 0:
            yield at
            at = lines.find(self.piece, at + 1)

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
    _, token, run = max(runs, key=lambda found: found[0])
    plain = answer.isascii() and _VERBATIM.fullmatch(answer.lower()) is not None
    return Needle(
        piece=run.group().encode(),
        word_start=run.start() == 0,
        word_end=run.end() == len(token.group().lower()),
        verbatim=answer.strip().lower().encode() if plain else None,
        offset=token.start() + run.start() - (len(answer) - len(answer.lstrip())),
    )


def hidden_lines(lines: bytes) -> set[int]:
    """Numbers of the lines in which a byte search may overlook a piece."""
    found = {lines.count(b"\n", 0, match.start()) for match in _HIDDEN.finditer(lines)}
    if not lines.isascii():
        at = lines.find(_KELVIN_SIGN)
        while at >= 0:
            found.add(lines.count(b"\n", 0, at))
            at = lines.find(_KELVIN_SIGN, at + 1)
    return found
