"""What names the bytes of a file, however large: hashed in blocks, which cores or machines read at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import msgspec

from whichone.files.workers import available_cores

BLOCK = 1 << 30
OF_BLOCKS = "blocks:"
_PIECE = 1 << 20


class Block(msgspec.Struct, frozen=True):
    """Some bytes of a file."""

    path: Path
    start: int
    end: int


BlockHashes: TypeAlias = Callable[[list[Block]], Sequence[bytes]]
"""The SHA-256 of each block, wherever it is computed."""


def content_hash(path: Path, hashes: BlockHashes | None = None) -> str:
    """SHA-256 of a file of one block; of a larger one `blocks:` and that of its blocks' digests in order."""
    size = path.stat().st_size
    blocks = [
        Block(path.resolve(), start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)
    ]
    if len(blocks) <= 1:
        return (block_hash(blocks[0]) if blocks else hashlib.sha256().digest()).hex()
    digests = (hashes or _on_all_cores)(blocks)
    return OF_BLOCKS + hashlib.sha256(b"".join(digests)).hexdigest()


def block_hash(block: Block) -> bytes:
    digest, left = hashlib.sha256(), block.end - block.start
    with block.path.open("rb") as file:
        file.seek(block.start)
        while left and (piece := file.read(min(_PIECE, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.digest()


def _on_all_cores(blocks: list[Block]) -> list[bytes]:
    """Threads suffice: hashing leaves Python's lock to the others."""
    with ThreadPoolExecutor(available_cores()) as threads:
        return list(threads.map(block_hash, blocks))
