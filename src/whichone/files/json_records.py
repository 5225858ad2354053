"""Cutting a large file of JSON records (one array, or JSON lines) into parts without parsing it.

A cut is guessed and then proved: when every part, put between brackets, is a valid array, their
elements in order are the elements of the whole. A part that does not decode means a wrong guess
(or a damaged file); the caller then reads the file whole.
"""

import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import NOT_JSON, open_binary

_Layout = Literal["array", "lines"]
T = TypeVar("T")
PART_BYTES = 4 << 20
_OPENING = re.compile(rb"\s*\[\s*")
_FIRST_KEY = re.compile(rb'\{\s*("(?:[^"\\]|\\.)*")\s*:')
_OVERLAP = 256
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FilePart(msgspec.Struct, frozen=True):
    """Records of one file as they lie there: bytes, or the byte range to read them from."""

    path: str
    layout: _Layout
    data: bytes | None = None
    start: int = 0
    end: int = 0

    def array(self) -> bytes | bytearray:
        if self.data is None and self.layout == "array":
            buffer = bytearray(self.end - self.start + 2)
            buffer[0], buffer[-1] = b"[]"
            with Path(self.path).open("rb", buffering=0) as file:
                file.seek(self.start)
                file.readinto(memoryview(buffer)[1:-1])
            return buffer
        if (data := self.data) is None:
            with Path(self.path).open("rb") as file:
                file.seek(self.start)
                data = file.read(self.end - self.start)
        if self.layout == "lines":
            data = b",".join(line for line in data.splitlines() if line.strip())
        return b"[" + data + b"]"


class _Cuts(msgspec.Struct, frozen=True):
    """`pattern` finds the end of a record; its group 1 is the separator to leave out."""

    layout: _Layout
    opening: int
    pattern: re.Pattern[bytes]


def parts(path: str | Path, size: int = PART_BYTES) -> Iterator[FilePart]:
    """Parts of about `size` bytes; of a plain file only byte ranges, to be read where they are used."""
    with open_binary(path) as file:
        try:
            head = file.read(size)
            cuts = _learn_cuts(head, path)
            plain = isinstance(getattr(file, "raw", None), io.FileIO)
            yield from _ranges(path, cuts, size) if plain else _stream(path, file, head, cuts, size)
        except (EOFError, OSError, zlib.error) as error:
            raise BadInput(f"damaged: {error}", file=path, hint="fetch it again") from error


def _stream(path: str | Path, file: IO[bytes], head: bytes, cuts: _Cuts, size: int) -> Iterator[FilePart]:
    buffer = head[cuts.opening :]
    while more := file.read(size):
        searched = max(0, len(buffer) - _OVERLAP)
        buffer += more
        if cut := cuts.pattern.search(buffer, searched):
            yield FilePart(str(path), cuts.layout, data=buffer[: cut.start(1)])
            buffer = buffer[cut.end(1) :]
    yield FilePart(str(path), cuts.layout, data=_without_closing(buffer, cuts.layout, path))


def _ranges(path: str | Path, cuts: _Cuts, size: int) -> Iterator[FilePart]:
    start, total = cuts.opening, Path(path).stat().st_size
    with Path(path).open("rb") as file:
        while start + size < total:
            if (cut := _next_cut(file, cuts.pattern, start + size)) is None:
                break
            yield FilePart(str(path), cuts.layout, start=start, end=cut[0])
            start = cut[1]
        file.seek(max(start, total - 64))
        tail = file.read()
    end = total - len(tail) + len(_without_closing(tail, cuts.layout, path))
    yield FilePart(str(path), cuts.layout, start=start, end=end)


def _next_cut(file: IO[bytes], pattern: re.Pattern[bytes], at: int) -> tuple[int, int] | None:
    window = b""
    file.seek(at)
    while more := file.read(1 << 18):
        searched, window = window, window[-_OVERLAP:] + more
        at += max(0, len(searched) - _OVERLAP)
        if cut := pattern.search(window):
            return at + cut.start(1), at + cut.end(1)
    return None


def _learn_cuts(head: bytes, path: str | Path) -> _Cuts:
    """How the records of this file are divided, seen on its first one."""
    skipped = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
    if (opening := _OPENING.match(head, skipped)) is None:
        if not head[skipped:].lstrip().startswith(b"{"):
            raise BadInput(
                "neither a JSON array nor JSON lines" if head.strip() else "the file is empty", file=path
            )
        return _Cuts("lines", skipped, re.compile(rb"(\r?\n)"))
    return _Cuts("array", opening.end(), _record_end(head, opening.end()))


def _record_end(head: bytes, start: int) -> re.Pattern[bytes]:
    """The first key of a record marks the next one; what comes before tells it from inner objects."""
    if (key := _FIRST_KEY.match(head, start)) is None:
        return re.compile(rb"(,)(?!)")
    following = rb"(\s*,\s*)\{\s*" + re.escape(key.group(1)) + rb"\s*:"
    loose = re.compile(rb"\}" + following)
    for cut in loose.finditer(head, start):
        try:
            msgspec.json.decode(b"[" + head[start : cut.start(1)] + b"]", type=list[msgspec.Raw])
        except NOT_JSON:
            continue
        strict = re.compile(rb"\]\s*\}" + following)
        return strict if any(m.end() == cut.end() for m in strict.finditer(head)) else loose
    return loose


def _without_closing(tail: bytes, layout: _Layout, path: str | Path) -> bytes:
    if layout == "lines":
        return tail
    bare = tail.rstrip()
    if not bare.endswith(b"]"):
        raise BadInput(
            "the array is not closed", file=path, hint="the file was cut off; write or fetch it again"
        )
    return bare[:-1]


def array_records(path: str | Path, kind: type[T]) -> Iterator[T]:
    """Records one after another; never more than a few megabytes are in memory."""
    decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    count = 0
    for part in parts(path):
        try:
            records = decoder.decode(part.array())
        except NOT_JSON:
            # A wrong cut, NaN, or damage: what was given is right, the rest is read at once.
            yield from decode_whole(path, list[kind])[count:]  # type: ignore[valid-type]
            return
        count += len(records)
        yield from records


def decode_whole(path: str | Path, kind: Any) -> Any:
    """All records of a file at once, NaN and lone surrogates allowed as Python's `json` allows them."""
    with open_binary(path) as file:
        data = file.read().removeprefix(_BYTE_ORDER_MARK)
    if not data.lstrip().startswith(b"["):
        data = b"[" + b",".join(line for line in data.splitlines() if line.strip()) + b"]"
    try:
        return msgspec.json.decode(data, type=kind)
    except NOT_JSON as strict:
        try:
            return msgspec.convert(json.loads(data), type=kind)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise BadInput(f"not the JSON that is expected here: {strict}", file=path) from strict


# The entries of a long array inside a JSON object, some at a time: `{"Data": [...], ...}`.


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
            if (result := (_IN_TEXT if self._text else _MARKS).search(data, place)) is None:
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
        if not (more := file.read(part)):
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
        if not (more := file.read(part)):
            yield b"[" + rest
            return
        rest += more
