"""Reading and writing text and JSON files, compressed or not, with errors that name the line."""

from __future__ import annotations

import gzip
import io
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

import msgspec

from whichone.errors import BadInput, Missing
from whichone.files.beside import written_beside
from whichone.files.compressed import Decompressed, pieces_for

T = TypeVar("T")

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises at bytes that are no JSON, no UTF-8, or nested deeper than can be read."""


def open_binary(path: str | Path) -> IO[bytes]:
    """The decompressed bytes of a file; gzip, bzip2 and zstd are recognised by their first bytes."""
    path = Path(path)
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise Missing("no such file", where=str(path)) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from error
    try:
        magic = raw.read(4)
        raw.seek(0)
    except OSError as error:
        raw.close()
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from error
    pieces = pieces_for(magic)
    if pieces is None:
        return raw
    return cast("IO[bytes]", io.BufferedReader(Decompressed(path, raw, pieces), 1 << 18))


def read_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Line number (from 1) and the line without its end, blank lines included.

    A byte order mark, which some editors put before the first line, is no part of it.
    """
    line = 0
    with open_binary(path) as file:
        try:
            for line, text in enumerate(file, 1):
                yield line, (text.removeprefix(BOM_UTF8) if line == 1 else text).rstrip(b"\r\n")
        except (BadInput, OSError) as error:
            raise BadInput(
                f"damaged after line {line}: {getattr(error, 'message', error)}",
                file=path,
                line=line + 1,
                hint="the file is truncated or not what its first bytes say; fetch it again",
            ) from error


def read_text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Line number and the line as text."""
    for line, raw in read_lines(path):
        try:
            yield line, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(
                f"not UTF-8: {error}", file=path, line=line, hint="save it as UTF-8"
            ) from error


@overload
def read_json_lines(path: str | Path) -> Iterator[tuple[int, Any]]: ...
@overload
def read_json_lines(path: str | Path, type: type[T]) -> Iterator[tuple[int, T]]: ...
def read_json_lines(path: str | Path, type: Any = Any) -> Iterator[tuple[int, Any]]:
    """Line number and decoded record of each line; blank lines are passed over."""
    decoder = msgspec.json.Decoder(type)
    for line, text in read_lines(path):
        if text.strip():
            yield line, decode_line(decoder, text, path, line)


def decode_line(decoder: msgspec.json.Decoder[T], text: bytes, path: str | Path, line: int) -> T:
    try:
        return decoder.decode(text)
    except NOT_JSON as error:
        raise BadInput(
            f"not the JSON that is expected here: {error}", file=path, line=line
        ) from error


@overload
def read_json(path: str | Path) -> Any: ...
@overload
def read_json(path: str | Path, type: type[T]) -> T: ...
def read_json(path: str | Path, type: Any = Any) -> Any:
    """One JSON document."""
    with open_binary(path) as file:
        try:
            return msgspec.json.decode(file.read().removeprefix(BOM_UTF8), type=type)
        except (*NOT_JSON, OSError) as error:
            raise BadInput(f"not the JSON that is expected here: {error}", file=path) from error


def encode_text(value: object) -> str:
    """A value as JSON; a text with half of a surrogate pair, which no file can contain, is an error."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"a text is not valid Unicode: {ascii(error.object)[:80]}",
            hint="it contains half of a surrogate pair, such as \\ud800 alone",
        ) from error


def write_atomic(path: str | Path, data: bytes) -> None:
    """The whole file or nothing: written beside its place, flushed, then moved there."""
    path = Path(path)
    try:
        with written_beside(path) as beside, beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=path) from error


def write_lines(path: str | Path, lines: Iterable[bytes]) -> int:
    """Lines to a file, gzipped when its name ends in .gz (without a time stamp); how many."""
    path = Path(path)
    count = 0
    with written_beside(path) as beside, beside.open("wb") as raw:
        zipped = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else None
        file = cast("IO[bytes]", zipped or raw)
        for count, line in enumerate(lines, 1):  # noqa: B007
            file.write(line)
            file.write(b"\n")
        if zipped is not None:
            zipped.close()
    return count


def write_json_lines(path: str | Path, records: Iterable[object]) -> int:
    return write_lines(path, map(msgspec.json.encode, records))
