"""Reading and writing text and JSON files, compressed or not, with errors that name the line."""

import csv
import gzip
import io
import os
import stat
import tomllib
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

import msgspec

from whichone.errors import BadInput, BrokenFolder, Missing, UsageError
from whichone.files.compressed import PIECES, Compression, Decompressed, compression_of
from whichone.files.output import out_of_room, written_beside

T = TypeVar("T")

# Bytes of a text, and of one JSON document, unpacked; more is an endless file or a bomb.
_LARGEST_TEXT, _LARGEST_DOCUMENT = 1 << 30, 8 << 30
_LONGEST_LINE = 1 << 30
# What taking a record apart raises where it is not shaped as expected.
ODD_RECORD = (LookupError, TypeError, ValueError, AttributeError, OverflowError)
# What decoding raises at bytes that are no JSON, no UTF-8, or nested deeper than can be read.
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def open_raw(path: Path) -> tuple[IO[bytes], Compression]:
    """An open file, and how it is compressed by its first bytes."""
    try:
        if path.is_fifo():  # its writer may never come or never end
            raise BadInput(
                "this is a pipe, not a file", file=path, hint="write what it gives to a file first"
            )
        raw = path.open("rb")
    except FileNotFoundError:
        raise Missing("no such file", where=str(path)) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from error
    try:
        if stat.S_ISCHR(os.fstat(raw.fileno()).st_mode) and not raw.isatty():
            raw.close()
            raise BadInput("this is a device, not a file", file=path)
        magic = raw.read(4)
        raw.seek(0)
    except OSError as error:
        raw.close()
        raise BadInput(f"cannot be read: {error.strerror}", file=path) from error
    return raw, compression_of(magic)


def open_binary(path: str | Path) -> IO[bytes]:
    """The decompressed bytes of a file."""
    raw, compression = open_raw(Path(path))
    if compression == "plain":
        return raw
    return cast("IO[bytes]", io.BufferedReader(Decompressed(Path(path), raw, PIECES[compression]), 1 << 18))


def read_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Line number (from 1) and the line without its end, blank lines included.

    A byte order mark, which some editors put before the first line, is no part of it.
    """
    line = 0
    with open_binary(path) as file:
        try:
            for line, text in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 1):
                if len(text) == _LONGEST_LINE:
                    raise BadInput(f"a line of more than {_LONGEST_LINE:,} bytes")
                yield line, (text.removeprefix(BOM_UTF8) if line == 1 else text).rstrip(b"\r\n")
        except (BadInput, OSError) as error:
            raise BadInput(
                f"damaged after line {line}: {getattr(error, 'message', error)}",
                file=path,
                line=line + 1,
                hint="the file is truncated or not what its first bytes say; fetch it again",
            ) from error


def read_bytes(path: str | Path, most: int = _LARGEST_TEXT) -> bytes:
    """The decompressed bytes of a whole file, without a byte order mark."""
    with open_binary(path) as file:
        try:
            blocks, size = [], 0
            # a block at a time: `read` makes room for all that is asked for before it reads
            while size <= most and (block := file.read(min(1 << 20, most + 1 - size))):
                blocks.append(block)
                size += len(block)
        except (BadInput, OSError) as error:
            raise BadInput(f"cannot be read: {getattr(error, 'message', error)}", file=path) from error
    if size > most:
        raise BadInput(f"it has more than {most:,} bytes", file=path)
    return b"".join(blocks).removeprefix(BOM_UTF8)


def read_text(path: str | Path) -> str:
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8: {error}", file=path, hint="save it as UTF-8") from error


def read_toml(path: str | Path, type: type[T], what: str = "TOML") -> T:
    try:
        document = tomllib.loads(read_text(path))
        msgspec.json.encode(document)  # numbers beyond 64 bits cannot be kept
        return msgspec.convert(document, type)
    except (ValueError, OverflowError, RecursionError) as error:  # msgspec's and tomllib's among them
        raise BadInput(f"not {what}: {error}", file=path) from error


def read_text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    for line, raw in read_lines(path):
        try:
            yield line, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(f"not UTF-8: {error}", file=path, line=line, hint="save it as UTF-8") from error


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
        raise BadInput(f"not the JSON that is expected here: {error}", file=path, line=line) from error


@overload
def read_json(path: str | Path) -> Any: ...
@overload
def read_json(path: str | Path, type: type[T]) -> T: ...
def read_json(path: str | Path, type: Any = Any) -> Any:
    try:
        return msgspec.json.decode(read_bytes(path, _LARGEST_DOCUMENT), type=type)
    except NOT_JSON as error:
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
        raise out_of_room(error, path) or BadInput(
            f"cannot be written: {error.strerror}", file=path
        ) from error


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


def sealed(record: bytes) -> bytes:
    """A JSON object whose first field is the checksum of the others."""
    rest = record[1:]
    return b'{"crc32":"%08x"%s%s' % (zlib.crc32(rest), b"" if rest == b"}" else b",", rest)


def unsealed(line: bytes) -> bytes | None:
    """What `sealed` was given; None where the line is not what was written."""
    record = b"{" + line[19:].removeprefix(b",")
    return record if sealed(record) == line else None


def sealed_records(path: Path, start: int = 0) -> Iterator[tuple[bytes, int]]:
    """The records of the lines after byte `start`, each with where its line ends.

    A last line that was cut off was never confirmed and is left out; any other that differs from what
    was written is an error.
    """
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n") and unsealed(line[:-1]) is None:
                return
            if (record := unsealed(line.removesuffix(b"\n"))) is None:
                number = path.read_bytes()[:start].count(b"\n") + 1
                raise BrokenFolder(
                    "the line is damaged: its checksum differs from what was written",
                    where=f"{path}:{number}",
                    hint="copy the folder again; or remove the line, and do again what it confirmed",
                )
            start += len(line)
            yield record, start


# Tables as text: CSV, where quotation marks may wrap a field of several lines, and TSV, where a line is a record.


_LONGEST_FIELD = 1 << 30


def read_rows(path: str | Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record; blank lines are passed over.

    With tabs, a field is unwrapped when it is quoted from its first to its last character, with
    quotation marks inside doubled, as DPR's files are; any other quotation mark is text.
    """
    if delimiter != "\t":
        return _csv_rows(path, delimiter)
    return ((line, tab_fields(text)) for line, text in read_text_lines(path) if text)


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
    if len(row) != len(names):
        raise BadInput(
            f"the line has {len(row)} columns, the header {len(names)}",
            file=path,
            line=line,
            hint="a record of a TSV file is one line" if delimiter == "\t" else None,
        )
    return dict(zip(names, row, strict=True))


def check_names(names: list[str], path: str | Path, line: int) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadInput("columns of the same name", file=path, line=line, ids=twice)


def _csv_rows(path: str | Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_LONGEST_FIELD)
    with open_binary(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")  # spreadsheets write a mark
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except UnicodeDecodeError as error:
            raise BadInput(f"not UTF-8: {error}", file=path, hint="save it as UTF-8") from error
        except csv.Error as error:
            raise BadInput(
                f"not CSV: {error}",
                file=path,
                line=reader.line_num,
                hint="a quotation mark that opens a field must close it; inside it is doubled",
            ) from error


def tab_fields(text: str) -> list[str]:
    fields = text.split("\t")
    return [_unwrapped(f) for f in fields] if '"' in text else fields


def _unwrapped(field: str) -> str:
    if len(field) < 2 or field[0] != '"' or field[-1] != '"':
        return field
    inside = field[1:-1]
    if '"' not in inside:
        return inside
    return field if '"' in inside.replace('""', "") else inside.replace('""', '"')


def write_rows(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows to a file, its format recognised by the suffix: .jsonl, .csv or .parquet."""
    path = Path(path)
    suffix = path.suffix if path.suffix != ".gz" else Path(path.stem).suffix
    if suffix == ".jsonl":
        write_json_lines(path, rows)
    elif suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(k for r in rows for k in r)))
            writer.writeheader()
            writer.writerows(rows)
    elif suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([dict(r) for r in rows]), Path(path).absolute())
    else:
        raise UsageError(f"cannot tell the format of {path.name}", hint="end it in .jsonl, .csv or .parquet")
