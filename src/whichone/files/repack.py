"""Writing a dump again as zstd while it is read: frames of parts, joined in the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whichone.errors import UsageError
from whichone.files.beside import written_beside
from whichone.files.parts import Chunk, compression_of

_SUFFIXES = (".bz2", ".gz")


def repacked_name(source: Path) -> Path:
    """Where the zstd form of a file goes: beside it, under its name."""
    if compression_of(source) == "zst":
        raise UsageError("this is zstd already", where=str(source), hint="leave out --repack")
    name = source.stem if source.suffix in _SUFFIXES else source.name
    target = source.with_name(f"{name}.zst")
    if target.exists():
        raise UsageError("this file is there already", where=str(target), hint="leave out --repack")
    return target


def passed_through(chunks: Iterable[Chunk], file: Path) -> Iterator[Chunk]:
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
