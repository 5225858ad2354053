"""`manifest.json`: what a folder contains and how it was made, with checksums of every file and of itself."""

import hashlib
import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from whichone.errors import BrokenFolder, Missing, NewerFormat, masked
from whichone.files.lines import read_json, write_atomic
from whichone.files.pools import available_cores

FORMAT = 2  # 1: a benchmark's passages are a table of its own; 2: they are a corpus
MANIFEST = "manifest.json"
TIMES = "timing.parquet"
_CHECKSUM = "checksum"


class FileEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    sha256: str
    bytes: int
    rows: int | None = None
    crc32: str = ""  # Of each block, one after another


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Only `made` may differ between equal folders."""

    kind: str
    format: int = 1
    name: str = ""
    files: dict[str, FileEntry] = {}
    parameters: dict[str, Any] = {}
    sources: list[dict[str, Any]] = []
    parents: dict[str, str] = {}
    counts: dict[str, Any] = {}
    made: dict[str, Any] = {}

    def content_hash(self) -> str:
        """One hash of all files but measured times: equal content, equal hash."""
        digest = hashlib.sha256()
        for name, entry in sorted(self.files.items()):
            if name != TIMES:
                digest.update(f"{name}\0{entry.sha256}\n".encode())
        return digest.hexdigest()


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as it is written: no key or password is in it, whoever put it there."""
    document = msgspec.to_builtins(manifest)
    for part in ("parameters", "sources", "made"):
        if part in document:
            document[part] = masked(document[part])
    origin = document.setdefault("made", {})
    origin[_CHECKSUM] = _checksum(document)  # in `made`, which may differ between equal folders
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2) + b"\n"


def read_manifest(root: Path, kinds: Sequence[str]) -> Manifest:
    """The manifest of a finished folder; `kinds` are what the caller hopes for."""
    wanted = " or ".join(kinds)
    if not root.exists():
        raise Missing(f"no such folder (wanted: {wanted})", where=str(root))
    if not (root / MANIFEST).exists():
        if (root / ".partial").exists():
            raise BrokenFolder(
                "the folder is half-written",
                file=root,
                hint="run the command that makes it again: it goes on where it stopped",
            )
        raise BrokenFolder(f"it has no {MANIFEST} (wanted: {wanted})", file=root)
    return decode_manifest(root / MANIFEST)


def decode_manifest(file: Path) -> Manifest:
    raw = read_json(file)
    if not isinstance(raw, dict) or not isinstance(raw.get("format", FORMAT), int):
        raise BrokenFolder("its manifest is not one of whichone's", file=file)
    if raw.get("format", 1) > FORMAT:
        raise NewerFormat(
            f"written in format {raw['format']}, this whichone knows format {FORMAT}",
            file=file.parent,
            hint="pip install --upgrade whichone",
        )
    origin = raw.setdefault("made", {})
    written = origin.pop(_CHECKSUM, None) if isinstance(origin, dict) else None
    if written != _checksum(raw):
        raise BrokenFolder(
            "its manifest is damaged: its checksum differs from what was written",
            file=file,
            hint="copy the folder again or make it again; a manifest is not edited by hand",
        )
    try:
        return msgspec.convert(raw, Manifest)
    except msgspec.ValidationError as error:
        raise BrokenFolder(f"its manifest is broken: {error}", file=file) from error


def _checksum(document: dict[str, Any]) -> str:
    return f"{zlib.crc32(msgspec.json.encode(document, order='sorted')):08x}"


# Checksums of a file's blocks: written with the manifest, compared when a block is first read.
# A bit that flips on a disk or in a copy changes a checksum, and the reader gets an error instead of
# another number. Each block is compared once a process. A file is compared whole when it is opened; of one
# larger than `AT_ONCE` whose reader knows which bytes it will use, those, before it uses them. Such a file has
# finer blocks, so that a few bytes here and there cost little.


BLOCK = 16 << 20
FINE = 16 << 10
AT_ONCE = 1 << 30
_PIECE = 1 << 20
_DIGITS = 8  # of a CRC-32 in hexadecimal

_File = tuple[int, int, int, int, str]
ByteRanges: TypeAlias = Iterable[tuple[int, int]]
# Compares the blocks of one file that these byte ranges touch.
Compare: TypeAlias = Callable[[ByteRanges], None]

_compared: dict[_File, bytearray] = {}  # 1 for each block that was compared


def sums_of(path: Path) -> tuple[str, str]:
    """SHA-256 of a file, and the CRC-32 of each block one after another, in one pass."""
    digest, sums = hashlib.sha256(), []
    block = FINE if path.stat().st_size > AT_ONCE else BLOCK
    with path.open("rb") as file:
        while True:
            crc, size = 0, 0
            while size < block and (piece := file.read(min(_PIECE, block - size))):
                digest.update(piece)
                crc = zlib.crc32(piece, crc)
                size += len(piece)
            if size:
                sums.append(f"{crc:08x}")
            if size < block:
                return digest.hexdigest(), "".join(sums)


def write_sums(path: Path) -> None:
    """Keep the checksums of a file that no manifest names beside it."""
    write_atomic(_sums_file(path), sums_of(path)[1].encode())


def forget_sums(path: Path) -> None:
    _sums_file(path).unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Whether a file that no manifest names is what `write_sums` saw; True where nothing is known."""
    if not _sums_file(path).exists():
        return True
    try:
        sums = _sums_file(path).read_text("ascii")
        size = path.stat().st_size
        if len(sums) // _DIGITS != -(-size // _block_size(size, sums)):
            return False
        Blocks(path, sums)([(0, size)])
    except (BrokenFolder, UnicodeDecodeError):
        return False
    return True


def _sums_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sums")


class Blocks:
    """The blocks of a file that has these checksums; called with byte ranges, it compares those they touch."""

    def __init__(self, path: Path, sums: str) -> None:
        state = path.stat()
        self._path, self._sums, self.size = path, sums, _block_size(state.st_size, sums)
        # a file that was written anew is another file; one with two names, as a corpus in an index has, is one
        identity = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, sums
        self._done = _compared.setdefault(identity, bytearray(len(sums) // _DIGITS))

    def __call__(self, ranges: ByteRanges) -> None:
        left: dict[int, None] = {}
        for start, end in ranges:
            first, last = start // self.size, min(-(-end // self.size), len(self._done))
            if self._done.find(0, first, last) >= 0:
                left |= dict.fromkeys(n for n in range(first, last) if not self._done[n])
        if 0 < len(left) * self.size <= BLOCK:
            self._compare(left)
        elif left:
            threads = available_cores()
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(self._compare, [list(left)[n::threads] for n in range(threads)]))

    def _compare(self, numbers: Iterable[int]) -> None:
        for number in self._differing(numbers):
            raise damaged(self._path, self._sums, [number])

    def damage(self) -> list[int]:
        """The numbers of all blocks that differ, read anew."""
        return list(self._differing(range(len(self._done))))

    def _differing(self, numbers: Iterable[int]) -> Iterator[int]:
        handle = os.open(self._path, os.O_RDONLY)
        try:
            for number in numbers:
                own = self._sums[(at := number * _DIGITS) : at + _DIGITS]
                if _block_crc(handle, number, self.size) != own:
                    yield number
                else:
                    self._done[number] = 1
        finally:
            os.close(handle)


def damaged(path: Path, sums: str, blocks: Iterable[int]) -> BrokenFolder:
    length = path.stat().st_size
    size = _block_size(length, sums)
    first = itertools.islice(blocks, 16)
    places = ", ".join(f"{n * size:,} to {min((n + 1) * size, length) - 1:,}" for n in first)
    return BrokenFolder(
        f"{path.name} is damaged: its checksum differs from what was written (bytes {places})",
        file=path.parent,
        hint="copy the folder again or make it again; whichone verify lists all damage",
    )


def _block_size(length: int, sums: str) -> int:
    """Of a file of this length: how many checksums it has tells which blocks they are of."""
    count = len(sums) // _DIGITS
    return next((size for size in (BLOCK, 64 << 10) if count == -(-length // size)), FINE)


def _block_crc(handle: int, number: int, size: int) -> str:
    crc, at = 0, number * size
    end = at + size
    while at < end and (piece := os.pread(handle, min(_PIECE, end - at), at)):
        crc = zlib.crc32(piece, crc)
        at += len(piece)
    return f"{crc:08x}"


# What names the bytes of a file, however large: hashed in blocks, which cores or machines read at once.


CONTENT_HASH_BLOCK = 1 << 30
OF_BLOCKS = "blocks:"
_CONTENT_HASH_PIECE = 1 << 20


class FileBlock(msgspec.Struct, frozen=True):
    path: Path
    start: int
    end: int


# The SHA-256 of each block, wherever it is computed.
BlockHashes: TypeAlias = Callable[[list[FileBlock]], Sequence[bytes]]


def content_hash(path: Path, hashes: BlockHashes | None = None) -> str:
    """SHA-256 of a file of one block; of a larger one `blocks:` and that of its blocks' digests in order."""
    size = path.stat().st_size
    blocks = [
        FileBlock(path.resolve(), start, min(start + CONTENT_HASH_BLOCK, size))
        for start in range(0, size, CONTENT_HASH_BLOCK)
    ]
    if len(blocks) <= 1:
        return (block_hash(blocks[0]) if blocks else hashlib.sha256().digest()).hex()
    digests = (hashes or _on_all_cores)(blocks)
    return OF_BLOCKS + hashlib.sha256(b"".join(digests)).hexdigest()


def block_hash(block: FileBlock) -> bytes:
    digest, left = hashlib.sha256(), block.end - block.start
    with block.path.open("rb") as file:
        file.seek(block.start)
        while left and (piece := file.read(min(_CONTENT_HASH_PIECE, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.digest()


def _on_all_cores(blocks: list[FileBlock]) -> list[bytes]:
    """Threads suffice: hashing leaves Python's lock to the others."""
    with ThreadPoolExecutor(available_cores()) as threads:
        return list(threads.map(block_hash, blocks))
