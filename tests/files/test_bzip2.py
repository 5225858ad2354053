"""Blocks cut out of a bzip2 file give the same bytes as decompressing it from its beginning."""

from __future__ import annotations

import bz2
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.files import compressed
from whichone.files.compressed import block_openings, read_blocks
from whichone.files.lines import read_lines
from whichone.files.parts import plan_parts, read_part


def noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def text(size: int, seed: int = 0) -> bytes:
    rng = random.Random(seed)
    words = [bytes(rng.choices(b"abcdefghij", k=rng.randint(2, 9))) for _ in range(500)]
    out = b" ".join(rng.choices(words, k=size // 4))
    return out[:size]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def joined(path: Path, start: int = 0) -> bytes:
    blocks = list(read_blocks(path, start))
    assert all(b.data is not None for b in blocks)
    return b"".join(b.data or b"" for b in blocks)


@pytest.mark.parametrize("level", [1, 9])
@pytest.mark.parametrize("make", [noise, text])
def test_all_blocks_are_the_whole_file(tmp_path: Path, level: int, make: object) -> None:
    data = make(1_000_000)  # type: ignore[operator]
    path = write(tmp_path / "a.bz2", bz2.compress(data, level))
    assert joined(path) == data


def test_every_start_gives_the_blocks_from_there_on(tmp_path: Path) -> None:
    data = text(900_000)
    path = write(tmp_path / "a.bz2", bz2.compress(data, 1))
    blocks = list(read_blocks(path))
    assert len(blocks) == 10
    for start in range(0, path.stat().st_size, 7_919):
        assert list(read_blocks(path, start)) == [b for b in blocks if b.offset >= start]


def test_many_streams_and_empty_ones(tmp_path: Path) -> None:
    pieces = [text(50_000, seed) for seed in range(20)]
    streams = [bz2.compress(p) for p in pieces]
    streams[3:3] = [bz2.compress(b"")] * 2
    path = write(tmp_path / "a.bz2", b"".join(streams) + bz2.compress(b""))
    assert joined(path) == b"".join(pieces)


def test_an_empty_stream_has_no_blocks(tmp_path: Path) -> None:
    assert list(read_blocks(write(tmp_path / "a.bz2", bz2.compress(b"")))) == []


@pytest.mark.skipif(shutil.which("lbzip2") is None, reason="needs lbzip2")
def test_files_of_a_parallel_compressor(tmp_path: Path) -> None:
    data = text(3_000_000)
    plain = write(tmp_path / "a", data)
    subprocess.run(["lbzip2", "-k", "-1", str(plain)], check=True)
    assert joined(tmp_path / "a.bz2") == data


def test_a_chance_opening_inside_a_block_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file can be made to hold one, so openings are added between the true ones."""
    data = text(900_000)
    path = write(tmp_path / "a.bz2", bz2.compress(data, 1))
    true = list(read_blocks(path))
    descriptor = os.open(path, os.O_RDONLY)
    openings = list(block_openings(descriptor, 0))
    os.close(descriptor)
    chance = [openings[0] + 4_001, openings[4] + 9_999, openings[-1] + 777]

    def with_chance(descriptor: int, start: int):  # type: ignore[no-untyped-def]
        return iter(b for b in sorted(openings + chance) if b // 8 >= start)

    monkeypatch.setattr(compressed, "block_openings", with_chance)
    assert list(read_blocks(path)) == true
    for bit in chance:
        start = bit // 8
        assert list(read_blocks(path, start)) == [b for b in true if b.offset >= start]


@pytest.mark.parametrize("damage", [False, True])
def test_blocks_in_groups_are_the_same_bytes(tmp_path: Path, damage: bool) -> None:
    pytest.importorskip("indexed_bzip2")
    data = text(4_000_000)
    raw = bytearray(bz2.compress(data, 1) + bz2.compress(data[:300_000], 1))
    path = write(tmp_path / "a.bz2", bytes(raw))
    true = list(read_blocks(path))
    if damage:
        raw[true[20].offset + 2_000] ^= 0x10
        write(path, bytes(raw))
        true = list(read_blocks(path))
        assert [n for n, b in enumerate(true) if b.data is None] == [20]
    for start, end in [(0, len(raw)), (0, 300_000), (true[5].offset, true[23].offset), (1, 2)]:
        found = list(read_blocks(path, start, end))
        expected = [b for b in true if b.offset >= start]
        for side in (True, False):  # what opens before the end, and what comes after it
            kept = [b.data for b in found if (b.offset < end) is side]
            wanted = [b.data for b in expected if (b.offset < end) is side]
            assert b"|".join(d or b"?" for d in kept).replace(b"|", b"") == b"".join(
                d or b"?" for d in wanted
            )
        if end - start > 100_000 and not damage:
            assert len(found) < len(expected)


def test_a_damaged_block_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    data = text(900_000)
    raw = bytearray(bz2.compress(data, 1))
    path = write(tmp_path / "a.bz2", bytes(raw))
    true = list(read_blocks(path))
    raw[true[4].offset + 2_000] ^= 0x10
    write(path, bytes(raw))
    found = list(read_blocks(path))
    assert [b.data is None for b in found] == [n == 4 for n in range(10)]
    assert found[4].offset == true[4].offset
    assert not found[4].cut_off
    assert next(read_blocks(path, true[4].offset)).data is None


def test_a_cut_off_file_says_so_in_its_last_block(tmp_path: Path) -> None:
    raw = bz2.compress(text(950_000), 1)
    path = write(tmp_path / "a.bz2", raw[: len(raw) - 300])
    found = list(read_blocks(path))
    assert [b.data is None for b in found] == [False] * 9 + [True]
    assert found[-1].cut_off


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data[:-1], "its end is missing"),
        (lambda data: data[:-3], "its end is missing"),
        (lambda data: data + b"more", "other bytes after its end"),
        (lambda data: data + b"\0", "other bytes after its end"),
        (lambda data: data + bytes(200), "is cut off"),
    ],
)
def test_a_file_that_is_short_or_longer_is_refused(
    tmp_path: Path, change: Callable[[bytes], bytes], problem: str
) -> None:
    """By the reader of parts, as `ingest` has it, and by that of lines, as `corpus` has it."""
    file = tmp_path / "x.bz2"
    whole = bz2.compress(b"".join(b"%d\n" % n for n in range(300_000)), 1)
    for data, expected in ((whole, None), (whole + bz2.compress(b""), None), (change(whole), problem)):
        file.write_bytes(data)
        chunks = [c for part in plan_parts(file) for c in read_part(file, part)]
        problems = [c.problem for c in chunks if c.problem]
        assert len(problems) == (expected is not None)
        if expected is None:
            assert sum(1 for _ in read_lines(file)) == 300_000
            continue
        assert expected in problems[0]
        with pytest.raises(BadInput, match=r"x\.bz2"):
            list(read_lines(file))
