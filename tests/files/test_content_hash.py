"""The hash of a file in blocks, beside values computed with `hashlib` alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from whichone.files import manifest as module
from whichone.files.manifest import FileBlock, block_hash, content_hash


@pytest.mark.parametrize("data", [b"", b"abc", b"abcdefgh"])
def test_a_file_of_one_block_has_its_own_hash(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONTENT_HASH_BLOCK", 8)
    (tmp_path / "file").write_bytes(data)
    assert content_hash(tmp_path / "file") == hashlib.sha256(data).hexdigest()


def test_a_larger_file_has_the_hash_of_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONTENT_HASH_BLOCK", 8)
    (tmp_path / "file").write_bytes(b"abcdefghij")
    digests = hashlib.sha256(b"abcdefgh").digest() + hashlib.sha256(b"ij").digest()
    expected = "blocks:" + hashlib.sha256(digests).hexdigest()
    assert content_hash(tmp_path / "file") == expected
    asked: list[FileBlock] = []

    def elsewhere(blocks: list[FileBlock]) -> list[bytes]:
        asked.extend(blocks)
        return [block_hash(block) for block in blocks]

    assert content_hash(tmp_path / "file", elsewhere) == expected
    assert [(block.start, block.end) for block in asked] == [(0, 8), (8, 10)]
    (tmp_path / "file").write_bytes(b"abcdefghik")
    assert content_hash(tmp_path / "file") != expected
