"""Reading and writing text and JSON files, compressed or not, with errors that name the line."""

from __future__ import annotations

import csv
import gzip
import io
import os
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

import msgspec

from whichone.errors import BadInput, Missing
from whichone.files.compressed import Decompressed, pieces_for
from whichone.files.output import written_beside

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


# Tables as text: CSV, where quotation marks may wrap a field of several lines, and TSV, where a line is a record.


_LONGEST_FIELD = 1 << 30


def read_rows(path: str | Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record; blank lines are passed over.

    With tabs, a field is unwrapped when it is quoted from its first to its last character, with
    quotation marks inside doubled, as DPR's files are; any other quotation mark is text.
    """
    return _tab_rows(path) if delimiter == "\t" else _csv_rows(path, delimiter)


def read_table_rows(
    path: str | Path, delimiter: str = ",", bad: list[str] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and record by the names in the first row.

    Rows with another number of fields go into `bad` where it is given, else they are raised.
    """
    names: list[str] | None = None
    for line, row in read_rows(path, delimiter):
        if names is None:
            names = row
            check_names(names, path, line)
            continue
        try:
            record = table_record(names, row, path, line, delimiter)
        except BadInput as wrong:
            if bad is None:
                raise
            bad.append(str(wrong))
            continue
        yield line, record


def table_record(
    names: list[str], row: list[str], path: str | Path, line: int, delimiter: str = "\t"
) -> dict[str, str]:
    """A row by the names of its columns."""
    if len(row) != len(names):
        raise BadInput(
            f"the line has {len(row)} columns, the header {len(names)}",
            file=path,
            line=line,
            hint="a record of a TSV file is one line" if delimiter == "\t" else None,
        )
    return dict(zip(names, row, strict=True))


def check_names(names: list[str], path: str | Path, line: int) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadInput("columns of the same name", file=path, line=line, ids=twice)


def _csv_rows(path: str | Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_LONGEST_FIELD)
    with open_binary(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")  # spreadsheets write a mark
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except UnicodeDecodeError as error:
            raise BadInput(f"not UTF-8: {error}", file=path, hint="save it as UTF-8") from error
        except csv.Error as error:
            raise BadInput(
                f"not CSV: {error}",
                file=path,
                line=reader.line_num,
                hint="a quotation mark that opens a field must close it; inside it is doubled",
            ) from error


def _tab_rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    for line, text in read_text_lines(path):
        if text:
            yield line, tab_fields(text)


def tab_fields(text: str) -> list[str]:
    """The fields of a line of a TSV file, unwrapped."""
    fields = text.split("\t")
    return [_unwrapped(f) for f in fields] if '"' in text else fields


def _unwrapped(field: str) -> str:
    if len(field) < 2 or field[0] != '"' or field[-1] != '"':
        return field
    inside = field[1:-1]
    if '"' not in inside:
        return inside
    if '"' in inside.replace('""', ""):
        return field
    return inside.replace('""', '"')
