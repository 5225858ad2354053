"""Decompressing gzip, bzip2 and zstd as a stream; a file that is damaged or cut off is an error, never a short file."""

import bz2
import gzip
import io
import itertools
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from whichone.errors import BadInput

_PIECE = 1 << 18  # decompressed bytes at a time: they stay in the cache until they are read
Compression = Literal["plain", "bz2", "gz", "zst"]
_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst"}
# What the decompressors raise at a damaged or cut off file.
DAMAGE = (EOFError, OSError, ValueError, zlib.error)

_Pieces = Callable[[IO[bytes]], Iterator[bytes]]


def compression_of(magic: bytes) -> Compression:
    """How a file with these first bytes is compressed."""
    return next((kind for start, kind in _MAGIC.items() if magic.startswith(start)), "plain")


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
    if raw.seekable() and (problem := problem_at_end(raw)) is not None:
        raise ValueError(problem)  # which the module passes over


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


PIECES = {"gz": gzip_pieces, "bz2": _bzip2_pieces, "zst": zstd_pieces}


def is_tar(path: Path) -> bool:
    try:
        return path.is_file() and tarfile.is_tarfile(path)
    except DAMAGE:
        return False


class Decompressed(io.RawIOBase):
    def __init__(self, path: Path, raw: IO[bytes], pieces: _Pieces) -> None:
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


# Decompressing any stretch of a bzip2 file on its own, block by block.
# A bzip2 block opens with 48 fixed bits at any bit offset. Each block is cut out, moved to a byte
# boundary and wrapped as a stream of its own, so that a worker can begin anywhere in the file
# without what comes before.


_BLOCK, _FOOTER = 0x314159265359, 0x177245385090
_CHUNK = 1 << 18
_LONGEST_BLOCK = 2_000_000  # compressed bytes; 900,000 bytes that do not compress stay far below
_GROUP = 12
_TRIES = 3  # ends that are tried: the next opening may be a chance match inside the block


class Block(msgspec.Struct, frozen=True):
    """A decompressed block and the byte of the compressed file in which it opens.

    `data` is None for a block that cannot be decoded; `cut_off` when the file ends in it.
    """

    offset: int
    data: bytes | None
    cut_off: bool = False


def read_blocks(path: Path, start: int = 0, end: int = 0) -> Iterator[Block]:
    """The blocks that open at or after a byte of the file, in order, to the end of the file.

    Those that open before `end` may be given several as one, which is faster.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if _fast_decompress(b"") is not None and end > start:
            yield from _read_groups(descriptor, start, end)
            start = end
        yield from _read_blocks(descriptor, start)
    finally:
        os.close(descriptor)


def problem_at_end(file: IO[bytes]) -> str | None:
    """What is wrong with the last bytes of a bzip2 file; every whole one ends in a stream's footer."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 64))
    tail = file.read()
    left = [8 * len(tail) - bit - 80 for bit in _find(tail, _FOOTER, _FOOTER_PATTERNS)]
    if any(0 <= bits < 8 and not tail[-1] & ((1 << bits) - 1) for bits in left):
        return None
    if any(bits >= 8 for bits in left):
        return "the bzip2 file has other bytes after its end"
    return "the bzip2 file is short: its end is missing"


def _read_groups(descriptor: int, start: int, end: int) -> Iterator[Block]:
    """All blocks that open in a stretch; groups that cannot be decoded are read block by block."""
    size = os.fstat(descriptor).st_size
    inside = list(itertools.takewhile(lambda bit: bit < end * 8, block_openings(descriptor, start)))
    bounds = [*inside, next(block_openings(descriptor, end), size * 8)]
    for n in range(0, len(inside), _GROUP):
        group = bounds[n : n + _GROUP + 1]
        streams = [_as_stream(descriptor, a, b) for a, b in itertools.pairwise(group)]
        data = _fast_decompress(b"".join(streams)) if all(streams) else None
        if data is not None:
            yield Block(group[0] // 8, data)
            continue
        limit = min(group[-1] // 8, end)
        for block in _read_blocks(descriptor, group[0] // 8):
            if block.offset >= limit:
                break
            yield block


def _read_blocks(descriptor: int, start: int) -> Iterator[Block]:
    size = os.fstat(descriptor).st_size
    openings = block_openings(descriptor, start)
    opening = next(openings, None)
    first = start > 0
    while opening is not None:
        ends = list(itertools.islice(openings, _TRIES))
        data, following = _decode(descriptor, opening, ends, size)
        if data is None and first and _inside_a_block(descriptor, opening):
            following = ends[0] if ends else None
        else:
            yield Block(opening // 8, data, cut_off=data is None and not ends)
        first = False
        openings = itertools.chain((b for b in ends if following and b > following), openings)
        opening = following


def block_openings(descriptor: int, start: int) -> Iterator[int]:
    """Bit offsets of all block openings from a byte of the file on, chance matches included."""
    position, last = start, -1
    while chunk := os.pread(descriptor, _CHUNK + 7, position):
        for bit in _find(chunk, _BLOCK, _BLOCK_PATTERNS):
            if position * 8 + bit > last:
                last = position * 8 + bit
                yield last
        position += _CHUNK


def _patterns(magic: int) -> list[tuple[bytes, int]]:
    """For each bit offset: the bytes of a magic that are whole, and how many bits precede them."""
    spread = [(magic << 8 >> shift).to_bytes(7, "big") for shift in range(8)]
    return [(spread[0][:6], 0)] + [(spread[s][1:6], 8 - s) for s in range(1, 8)]


_BLOCK_PATTERNS, _FOOTER_PATTERNS = _patterns(_BLOCK), _patterns(_FOOTER)


def _find(data: bytes, magic: int, patterns: list[tuple[bytes, int]]) -> list[int]:
    openings = []
    for whole, before in patterns:
        at = data.find(whole)
        while at >= 0:
            bit = at * 8 - before
            if bit >= 0 and bit + 48 <= len(data) * 8 and _bits(data, bit, 48) == magic:
                openings.append(bit)
            at = data.find(whole, at + 1)
    return sorted(openings)


def _bits(data: bytes, bit: int, count: int) -> int:
    first, last = bit // 8, (bit + count + 7) // 8
    value = int.from_bytes(data[first:last], "big")
    return (value >> (last * 8 - bit - count)) & ((1 << count) - 1)


def _decode(descriptor: int, opening: int, ends: list[int], size: int) -> tuple[bytes | None, int | None]:
    """A block's data (None when it cannot be decoded) and the opening of the one after it."""
    for end in ends or [size * 8]:
        if end - opening > 8 * _LONGEST_BLOCK:
            break
        if (data := _decompress(_as_stream(descriptor, opening, end))) is not None:
            return data, end if ends else None
    # the last block of the file may contain a chance match
    if (
        0 < len(ends) < _TRIES
        and (data := _decompress(_as_stream(descriptor, opening, size * 8))) is not None
    ):
        return data, None
    return None, ends[0] if ends else None


def _as_stream(descriptor: int, opening: int, end: int) -> bytes:
    first, last = opening // 8, (end + 7) // 8
    raw = os.pread(descriptor, last - first, first)
    if (count := _without_footer(raw, end - first * 8) - (opening - first * 8)) < 80:
        return b""
    block = _bits(raw, opening - first * 8, count)
    checksum = (block >> (count - 80)) & 0xFFFFFFFF  # of one block: also that of its stream
    padding = -(count + 80) % 8
    whole = ((block << 80) | (_FOOTER << 32) | checksum) << padding
    return b"BZh9" + whole.to_bytes((count + 80 + padding) // 8, "big")


def _without_footer(raw: bytes, end: int) -> int:
    """Where a block really ends: before the footer of its stream, if one follows it.

    Only the last bytes are searched: a footer has 10 bytes, the header of a next stream 4, and a
    few empty streams may lie between.
    """
    tail = max(0, len(raw) - 64)
    footers = [tail * 8 + bit for bit in _find(raw[tail:], _FOOTER, _FOOTER_PATTERNS)]
    return min([bit for bit in footers if bit < end], default=end)


def _inside_a_block(descriptor: int, opening: int) -> bool:
    """Whether an opening is a chance match inside a block that began before it."""
    nearest = itertools.islice(block_openings(descriptor, opening // 8), _TRIES + 1)
    later = [bit for bit in nearest if bit > opening]
    for before in block_openings(descriptor, max(0, opening // 8 - _LONGEST_BLOCK)):
        if before >= opening:
            return False
        for end in later or [os.fstat(descriptor).st_size * 8]:
            if _decompress(_as_stream(descriptor, before, end)) is not None:
                return True
    return False


def _decompress(stream: bytes) -> bytes | None:
    try:
        return bz2.decompress(stream) if stream else None
    except (OSError, ValueError):
        return None


def _fast_decompress(streams: bytes) -> bytes | None:
    """By indexed_bzip2, which is an eighth faster; None where it is not installed or fails."""
    try:
        import indexed_bzip2
    except ImportError:
        return None
    if not streams:
        return b""
    try:
        with indexed_bzip2.open(io.BytesIO(streams), parallelization=1) as file:
            return bytes(file.read())
    except Exception:  # whatever C++ threw: the standard module then judges block by block
        return None
