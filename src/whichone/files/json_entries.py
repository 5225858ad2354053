"""The entries of a long array inside a JSON object, some at a time: `{"Data": [...], ...}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import NOT_JSON, open_binary

PART = 4 << 20
_MARKS = re.compile(rb'["\\\[\]{},]')
_IN_TEXT = re.compile(rb'["\\]')


class _Scanner:
    """Where in JSON a stream of bytes is: inside a text or not, and how deep in brackets."""

    def __init__(self) -> None:
        self.depth = 0
        self._text = self._escaped = False

    def marks(self, data: bytes, start: int) -> Iterator[tuple[int, int]]:
        """The brackets and commas outside texts, each with its place and the depth after it."""
        place = start
        while place < len(data):
            if self._escaped:
                self._escaped = False
                place += 1
                continue
            result = (_IN_TEXT if self._text else _MARKS).search(data, place)
            if result is None:
                return
            place = result.end()
            mark = data[result.start()]
            if mark == 0x5C:  # a backslash
                self._escaped = True
            elif mark == 0x22:  # a quotation mark
                self._text = not self._text
            else:
                self.depth += (mark in b"[{") - (mark in b"]}")
                yield result.start(), mark


def records_under(path: str | Path, key: str) -> Iterator[Any]:
    """The entries of an array under a key of the outermost object, one after another."""
    with open_binary(path) as file:
        try:
            for part in entries(file, key.encode()):
                yield from msgspec.json.decode(part, type=list[Any])
        except (*NOT_JSON, OSError) as error:
            raise BadInput(f"not the JSON that is expected here: {error}", file=path) from error


def entries(file: IO[bytes], key: bytes, part: int = PART) -> Iterator[bytes]:
    """The array under a key of the outermost object, cut into JSON arrays of a few megabytes.

    A file without such an array, or one that ends early, gives what is no JSON, so that decoding says so.
    """
    opening = re.compile(rb'"' + re.escape(key) + rb'"\s*:\s*\[')
    head = b""
    while (start := opening.search(head)) is None:
        more = file.read(part)
        if not more:
            yield b"" if not head.strip() else head[:80] + b" has no " + key
            return
        head += more
    yield from _parts(file, head[start.end() :], part)


def _parts(file: IO[bytes], rest: bytes, part: int) -> Iterator[bytes]:
    scanner, scanned, cut = _Scanner(), 0, 0
    while True:
        for place, mark in scanner.marks(rest, scanned):
            if scanner.depth < 0:  # the array's own end
                yield b"[" + rest[:place] + b"]"
                return
            if mark == 0x2C and scanner.depth == 0:
                cut = place
        scanned = len(rest)
        if cut:
            yield b"[" + rest[:cut] + b"]"
            rest = rest[cut + 1 :]
            scanned -= cut + 1
            cut = 0
        more = file.read(part)
        if not more:
            yield b"[" + rest
            return
        rest += more
