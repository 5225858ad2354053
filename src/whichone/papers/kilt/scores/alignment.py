"""The lines of a gold or prediction file by record id, without keeping them in memory."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from array import array
from pathlib import Path
from typing import IO

import msgspec
from msgspec import UNSET

from whichone.errors import BadInput
from whichone.files.lines import open_binary
from whichone.papers.kilt.scores.records import RecordReader, Unreadable, as_id

_LEADING_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]*)"\s*[,}]')


class BadLine(msgspec.Struct, frozen=True):
    """A line that cannot be used, with its number from 1."""

    line: int
    id: str | None
    reason: str


class LineIndex:
    """Where each record's line starts; compressed files and pipes are unpacked to a nameless file."""

    def __init__(self, path: str | Path, reader: RecordReader) -> None:
        self.path = str(path)
        self._reader = reader
        self._file = _seekable(path)
        self._starts = array("Q", [0])
        self.number: dict[str, int] = {}
        """Line number, from 0, of each id."""
        self.bad: list[BadLine] = []
        self._scan()

    def __len__(self) -> int:
        return len(self.number)

    @property
    def size(self) -> int:
        return self._starts[-1]

    def line(self, number: int) -> bytes:
        start, end = self._starts[number : number + 2]
        return os.pread(self._file.fileno(), end - start, start)

    def close(self) -> None:
        self._file.close()

    def _scan(self) -> None:
        end = 0
        starts, number = self._starts, self.number
        try:
            for count, line in enumerate(self._file):
                end += len(line)
                starts.append(end)
                match = _LEADING_ID.match(line)
                record = (
                    match[1].decode().strip()
                    if match and match[1].isascii()
                    else self._slow_id(line, count)
                )
                if record is None:
                    continue
                if number.setdefault(record, count) != count:
                    first = number[record] + 1
                    self._refuse(count, record, f"the id occurs twice, first on line {first}")
        except (OSError, EOFError, ValueError) as error:
            line_number = len(starts)
            raise BadInput(f"cannot be read: {error}", file=self.path, line=line_number) from error

    def _slow_id(self, line: bytes, count: int) -> str | None:
        try:
            record = self._reader.read(line)
        except Unreadable as error:
            self._refuse(count, None, str(error))
            return None
        if record.id is UNSET:
            self._refuse(count, None, "the record has no id")
            return None
        return as_id(record.id)

    def _refuse(self, count: int, record: str | None, reason: str) -> None:
        self.bad.append(BadLine(count + 1, record, reason))


def _seekable(path: str | Path) -> IO[bytes]:
    if Path(path).is_fifo():
        with tempfile.NamedTemporaryFile() as copy, Path(path).open("rb") as pipe:
            shutil.copyfileobj(pipe, copy, 1 << 20)
            copy.flush()
            return _seekable(copy.name)
    stream = open_binary(path)
    if isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO):
        return stream
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the index
    try:
        with stream:
            shutil.copyfileobj(stream, unpacked, 1 << 20)
    except (OSError, EOFError, ValueError) as error:
        unpacked.close()
        raise BadInput(
            f"damaged: {error}", file=path, hint="the file is truncated; fetch or write it again"
        ) from error
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return unpacked
