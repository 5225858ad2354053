"""A compressed file that is damaged or cut off is an error wherever it is read."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path

import pytest
import zstandard

from whichone.corpus.passage_files import read_records
from whichone.errors import BadInput
from whichone.files.lines import open_binary, read_json, read_json_lines, read_lines
from whichone.files.parts import beginning

LINES = b"".join(
    b'{"id": "%d", "title": "t", "text": "%f"}\n' % (n, random.Random(n).random()) for n in range(20_000)
)
PACKED = {
    "gz": gzip.compress(LINES),
    "bz2": bz2.compress(LINES),
    "zst": zstandard.ZstdCompressor().compress(LINES),
    "frames.zst": b"".join(
        zstandard.ZstdCompressor().compress(LINES[n : n + 100_000]) for n in range(0, len(LINES), 100_000)
    ),
}


@pytest.mark.parametrize("how", PACKED)
def test_the_whole_file_is_read(how: str, tmp_path: Path) -> None:
    file = tmp_path / f"f.jsonl.{how}"
    file.write_bytes(PACKED[how])
    with open_binary(file) as stream:
        assert stream.read(10) == LINES[:10]
        assert stream.read() == LINES[10:]
    assert beginning(file, 100) == LINES[:100]
    assert sum(1 for _ in read_records(file)) == 20_000


@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("share", [0.3, 0.66, 0.99])
def test_a_file_that_is_cut_off_is_an_error(how: str, share: float, tmp_path: Path) -> None:
    file = tmp_path / f"f.jsonl.{how}"
    file.write_bytes(PACKED[how][: int(len(PACKED[how]) * share)])
    for read in (
        lambda: list(read_lines(file)),
        lambda: list(read_json_lines(file)),
        lambda: list(read_records(file)),
        lambda: read_json(file),
        lambda: open_binary(file).read(),
    ):
        with pytest.raises(BadInput, match=r"damaged|cut off"):
            read()


@pytest.mark.parametrize("how", ["gz", "bz2", "zst"])
def test_a_damaged_file_is_an_error(how: str, tmp_path: Path) -> None:
    file = tmp_path / f"f.jsonl.{how}"
    data = bytearray(PACKED[how])
    data[len(data) // 2 : len(data) // 2 + 8] = b"\xff" * 8
    file.write_bytes(data)
    with pytest.raises(BadInput, match="damaged"):
        list(read_lines(file))
