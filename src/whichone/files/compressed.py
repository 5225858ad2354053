"""Decompressing gzip, bzip2 and zstd as a stream; a file that is damaged or cut off is an error, never a short file."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

from whichone.errors import BadInput

_PIECE = 1 << 18  # decompressed bytes at a time: they stay in the cache until they are read
_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
DAMAGE = (EOFError, OSError, ValueError, zlib.error)
"""What the decompressors raise at a damaged or cut off file."""

Pieces = Callable[[IO[bytes]], Iterator[bytes]]


def pieces_for(magic: bytes) -> Pieces | None:
    """How a file with these first bytes is decompressed; None where it is not compressed."""
    if magic.startswith(_GZIP):
        return gzip_pieces
    if magic.startswith(_BZIP2):
        return _bzip2_pieces
    return zstd_pieces if magic.startswith(_ZSTD) else None


def gzip_pieces(raw: IO[bytes]) -> Iterator[bytes]:
    try:
        from isal import igzip, igzip_lib
    except ImportError:
        yield from _pieces(cast("IO[bytes]", gzip.GzipFile(fileobj=raw)))
        return
    try:
        yield from _pieces(cast("IO[bytes]", igzip.IGzipFile(fileobj=raw)))
    except igzip_lib.IsalError as error:  # type: ignore[misc]
        raise ValueError(str(error)) from error


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while data := file.read(_PIECE):
        yield data


def _bzip2_pieces(raw: IO[bytes]) -> Iterator[bytes]:
    with bz2.BZ2File(raw) as file:
        yield from _pieces(cast("IO[bytes]", file))


def zstd_pieces(raw: IO[bytes]) -> Iterator[bytes]:
    """Frame by frame, in small bites: a bite bounds what a hostile frame can swell to."""
    import zstandard

    frame = None
    while bite := raw.read(1 << 14):
        while bite:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                data = frame.decompress(bite)
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from error
            if data:
                yield data
            bite = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError(f"the last zstd frame is not complete at byte {raw.tell():,}")


def is_tar(path: Path) -> bool:
    """Whether a file is an archive of files; one that is cut off is none."""
    try:
        return path.is_file() and tarfile.is_tarfile(path)
    except DAMAGE:
        return False


class Decompressed(io.RawIOBase):
    """The decompressed bytes of an open file, which is closed with it."""

    def __init__(self, path: Path, raw: IO[bytes], pieces: Pieces) -> None:
        self._path, self._raw = path, raw
        self._pieces = pieces(raw)
        self._held = memoryview(b"")
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._held:
            self._held = memoryview(self._next())
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        self._position += size
        return size

    def _next(self) -> bytes:
        try:
            return next(self._pieces, b"")
        except DAMAGE as error:
            raise BadInput(
                f"damaged or cut off after {self._position:,} decompressed bytes: {error}",
                file=self._path,
                hint="the file is truncated or not what its first bytes say; fetch it again",
            ) from error

    def close(self) -> None:
        if not self.closed:
            self._pieces.close()  # type: ignore[attr-defined]
            self._raw.close()
        super().close()
