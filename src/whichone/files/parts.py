"""Cutting a dump into parts that can be read in any order, on any number of workers.

A part is a function of the file alone. Plain and bzip2 files are cut by byte ranges; gzip and zstd
files can only be decompressed from their beginning, so one reader cuts them as it goes.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files import compressed
from whichone.files.lines import open_binary, open_raw
from whichone.files.output import written_beside

MEBIBYTE = 1 << 20
LONGEST_RECORD = 64 * MEBIBYTE
_PIECE = MEBIBYTE // 4  # decompressed bytes at a time: they stay in the cache until they are read


class ByteRange(msgspec.Struct, frozen=True):
    """A byte range of a file: of the compressed bytes of bzip2, of the decompressed ones else."""

    number: int
    start: int
    end: int


class RecordChunk(msgspec.Struct, frozen=True):
    """Whole records one after another, or the problem that was found in their place."""

    offset: int
    data: bytes = b""
    problem: str | None = None


_NOT_READ = {b"\xfd7zXZ\0": "xz", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"PK\x03\x04": "zip"}


def path_compression(path: Path) -> compressed.Compression:
    raw, compression = open_raw(path)
    raw.close()
    return compression


def plan_parts(path: Path) -> list[ByteRange]:
    size = path.stat().st_size
    least, most = (2, 32) if path_compression(path) == "bz2" else (1, 128)
    step = min(max(size // 64, least * MEBIBYTE), most * MEBIBYTE)
    return [ByteRange(n, start, min(start + step, size)) for n, start in enumerate(range(0, size, step))]


def read_part(path: Path, part: ByteRange, delimiter: bytes = b"\n") -> Iterator[RecordChunk]:
    """The records of one part of a plain or bzip2 file.

    A record belongs to the part in which the delimiter before it begins, the first one to part 0.
    """
    if path_compression(path) == "bz2":
        return whole_records(_bzip2_blocks(path, part), part, delimiter, exact=False)
    return whole_records(_plain_blocks(path, part), part, delimiter)


def _bzip2_blocks(path: Path, part: ByteRange) -> Iterator[RecordChunk]:
    whole = True
    for block in compressed.read_blocks(path, part.start, part.end):
        whole = block.data is not None
        if block.data is None:
            what = "is cut off" if block.cut_off else "is damaged"
            yield RecordChunk(block.offset, problem=f"the bzip2 block that opens at this byte {what}")
        else:
            yield RecordChunk(block.offset, block.data)
    size = path.stat().st_size
    if whole and part.end >= size:
        with path.open("rb") as file:
            if (problem := compressed.problem_at_end(file)) is not None:
                yield RecordChunk(size - 1, problem=problem)


def _plain_blocks(path: Path, part: ByteRange) -> Iterator[RecordChunk]:
    with path.open("rb") as file:
        file.seek(part.start)
        position = part.start
        while True:
            left = part.end - position
            if not (data := file.read(min(_PIECE, left) if left > 0 else _PIECE)):
                return
            yield RecordChunk(position, data)
            position += len(data)


def whole_records(
    blocks: Iterable[RecordChunk], part: ByteRange, delimiter: bytes, *, exact: bool = True
) -> Iterator[RecordChunk]:
    """Recut blocks at delimiters; blocks that open at or after the part's end only complete it.

    Not `exact`: offsets are those of compressed blocks, and a chunk has that of its first one.
    """
    held, at = bytearray(), part.start  # bytes would be copied with every block of a long record
    skipping = part.number > 0
    inside_end: int | None = None  # where in `held` the part ends
    for block in blocks:
        if block.offset >= part.end and inside_end is None:
            inside_end = len(held)
        if block.problem is not None:
            yield block
            if inside_end is not None:
                return
            held, skipping = bytearray(), True
            continue
        behind = block.offset + len(block.data) if exact else block.offset
        first = block.data.find(delimiter) + 1 if len(delimiter) == 1 else 0
        if first and inside_end is None and not skipping:  # the usual case, with the least copying
            cut = block.data.rfind(delimiter) + 1
            yield RecordChunk(at if held else block.offset, bytes(held) + block.data[:first])
            if cut > first:
                yield RecordChunk(block.offset + first * exact, block.data[first:cut])
            held = bytearray(block.data[cut:])
            at = behind - len(held) * exact
            continue
        searched = max(0, len(held) - len(delimiter) + 1)
        at = at if held else block.offset
        held += block.data
        if skipping:
            cut = held.find(delimiter, searched)
            if cut < 0 or (inside_end is not None and cut >= inside_end):
                if inside_end is not None:
                    if cut >= 0 or len(held) >= inside_end + len(delimiter) - 1:
                        return
                    continue  # a delimiter that begins before the end may still turn into whole
                held = held[-(len(delimiter) - 1) :] if len(delimiter) > 1 else bytearray()
                continue
            held, skipping, searched = held[cut + len(delimiter) :], False, 0
            at = behind - len(held) * exact
            inside_end = 0 if inside_end is not None else None
        if inside_end is None:
            cut = held.rfind(delimiter, searched)
        else:
            cut = held.find(delimiter, max(searched, inside_end))
        if cut >= 0:
            cut += len(delimiter)
            yield RecordChunk(at, bytes(held[:cut]))
            if inside_end is not None:
                return
            held = held[cut:]
            at = behind - len(held) * exact
        if len(held) > LONGEST_RECORD:
            yield RecordChunk(at, problem=f"a record here is longer than {LONGEST_RECORD:,} bytes")
            if inside_end is not None:
                return
            held, skipping = bytearray(), True
    if held and not skipping:
        yield RecordChunk(at, bytes(held))


def stream_parts(
    path: Path, raw: IO[bytes], delimiter: bytes = b"\n"
) -> Iterator[tuple[ByteRange, Iterator[RecordChunk]]]:
    """The parts of a gzip or zstd file with their records, in order; `raw` is the open file.

    Records are decompressed as they are asked for; those not asked for are passed over when the
    next part is. Where a part ends is known only then: its range is empty.
    """
    chunks = whole_records(_stream_blocks(path, raw), ByteRange(0, 0, 1 << 62), delimiter)
    size = min(max(path.stat().st_size // 2, 4 * MEBIBYTE), 64 * MEBIBYTE)
    for here, group in groupby(_placed(chunks, size), key=itemgetter(0)):
        yield here, (chunk for _, chunk in group)


def _placed(chunks: Iterable[RecordChunk], size: int) -> Iterator[tuple[ByteRange, RecordChunk]]:
    position, here = 0, ByteRange(0, 0, 0)
    for chunk in chunks:
        if position - here.start >= size:
            here = ByteRange(here.number + 1, position, position)
        yield here, chunk
        position += len(chunk.data)


def _stream_blocks(path: Path, raw: IO[bytes]) -> Iterator[RecordChunk]:
    position = 0
    pieces = compressed.zstd_pieces if path_compression(path) == "zst" else compressed.gzip_pieces
    try:
        for data in pieces(raw):
            yield RecordChunk(position, data)
            position += len(data)
    except compressed.DAMAGE as error:
        raise BadInput(
            f"damaged or cut off after {position:,} decompressed bytes: {error}",
            file=path,
            hint="fetch the file again and compare its checksum; the parts that were read are kept",
        ) from error


def beginning(path: Path, size: int = 1 << 16) -> bytes:
    with open_binary(path) as file:
        data = file.read(size)
    for magic, name in _NOT_READ.items():
        if data.startswith(magic):
            raise BadInput(
                f"compressed by {name}, which is not read here",
                file=path,
                hint="unpack it first, or pack it again as .zst, .gz or .bz2",
            )
    return data


# Writing a dump again as zstd while it is read: frames of parts, joined in the end.


_SUFFIXES = (".bz2", ".gz")


def repacked_name(source: Path) -> Path:
    if path_compression(source) == "zst":
        raise UsageError("this is zstd already", where=str(source), hint="leave out --repack")
    target = source.with_name(f"{source.stem if source.suffix in _SUFFIXES else source.name}.zst")
    if target.exists():
        raise UsageError("this file is there already", where=str(target), hint="leave out --repack")
    return target


def passed_through(chunks: Iterable[RecordChunk], file: Path) -> Iterator[RecordChunk]:
    """The same chunks, written as one zstd frame on the way."""
    import zstandard

    with (
        written_beside(file) as beside,
        beside.open("wb") as raw,
        zstandard.ZstdCompressor(level=3).stream_writer(raw) as frame,
    ):
        for chunk in chunks:
            frame.write(chunk.data)
            yield chunk


def join_frames(target: Path, frames: Iterable[Path]) -> None:
    """All frames one after another: a valid zstd file."""
    with written_beside(target) as beside, beside.open("wb") as file:
        for frame in frames:
            with frame.open("rb") as part:
                while data := part.read(1 << 20):
                    file.write(data)
