"""However a file is cut, its parts hold every record once and whole."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from whichone.errors import BadInput, Missing
from whichone.files import parts
from whichone.files.parts import (
    ByteRange,
    RecordChunk,
    beginning,
    plan_parts,
    read_part,
    stream_parts,
    whole_records,
)


def cut(data: bytes, delimiter: bytes, bounds: list[int], piece: int) -> list[list[bytes]]:
    """The chunks of each part of some bytes that are read in pieces of a fixed size."""
    edges = [0, *bounds, len(data)]
    found = []
    for n, (start, end) in enumerate(itertools.pairwise(edges)):
        inside = [RecordChunk(i, data[i : min(i + piece, end)]) for i in range(start, end, piece)]
        beyond = [RecordChunk(i, data[i : i + piece]) for i in range(end, len(data), piece)]
        chunks = list(whole_records([*inside, *beyond], ByteRange(n, start, end), delimiter))
        assert all(data[c.offset : c.offset + len(c.data)] == c.data for c in chunks)
        found.append([c.data for c in chunks])
    return found


@given(
    st.lists(st.text("ab", max_size=7), max_size=30),
    st.lists(st.integers(0, 200), max_size=5),
    st.integers(1, 20),
    st.sampled_from([b"\n", b"</p>"]),
    st.booleans(),
)
@example(["", "a"], [0, 1], 1, b"</p>", False)
@example(["aaa", "b", "c"], [1, 5], 1, b"</p>", True)
def test_every_record_once_and_whole(
    records: list[str], bounds: list[int], piece: int, delimiter: bytes, ended: bool
) -> None:
    data = delimiter.join(r.encode() for r in records) + (delimiter if ended else b"")
    bounds = sorted(b for b in bounds if b < len(data))
    found = cut(data, delimiter, bounds, piece)
    chunks = [c for part in found for c in part]
    assert b"".join(chunks) == data
    assert all(c.endswith(delimiter) for c in chunks[:-1])


def lines(count: int) -> bytes:
    return b"".join(b'{"id":%d,"x":"%s"}\n' % (n, b"y" * (n % 97)) for n in range(count))


def test_plain_and_bzip2_parts_join_to_the_file(tmp_path: Path) -> None:
    data = lines(40_000)
    for name, raw in [("a", data), ("b.bz2", bz2.compress(data, 1))]:
        path = tmp_path / name
        path.write_bytes(raw)
        size = len(raw)
        shares = [ByteRange(n, size * n // 7, size * (n + 1) // 7) for n in range(7)]
        found = [b"".join(c.data for c in read_part(path, share)) for share in shares]
        assert b"".join(found) == data
        assert sum(bool(f) for f in found) > 3
        assert all(f.endswith(b"}\n") for f in found if f)


def test_the_plan_covers_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MEBIBYTE", 1_000)
    path = tmp_path / "a"
    path.write_bytes(lines(1_000))
    plan = plan_parts(path)
    assert [p.number for p in plan] == list(range(len(plan)))
    assert plan[0].start == 0
    assert plan[-1].end == path.stat().st_size
    assert all(a.end == b.start for a, b in itertools.pairwise(plan))


def joined(chunks: Iterable[RecordChunk]) -> bytes:
    return b"".join(c.data for c in chunks)


def streamed(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        return [joined(chunks) for _, chunks in stream_parts(path, file)]


@pytest.mark.parametrize("suffix", ["gz", "zst", "zst frames"])
def test_streams_are_cut_at_records(tmp_path: Path, suffix: str) -> None:
    data = lines(200_000)
    path = tmp_path / "a"
    squeeze = zstandard.ZstdCompressor().compress
    half = len(data) // 2
    raw = {
        "gz": lambda: gzip.compress(data, 1),
        "zst": lambda: squeeze(data),
        "zst frames": lambda: squeeze(data[:half]) + squeeze(data[half:]),
    }[suffix]()
    path.write_bytes(raw)
    found = streamed(path)
    assert len(found) > 2
    assert b"".join(found) == data
    assert all(part.endswith(b"\n") for part in found)
    with path.open("rb") as file:
        skipped = [(r, b"") if r.number == 1 else (r, joined(c)) for r, c in stream_parts(path, file)]
    assert [part for r, part in skipped if r.number != 1] == found[:1] + found[2:]
    starts = [0, *itertools.accumulate(map(len, found))]
    assert [r.start for r, _ in skipped] == starts[:-1]


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_cut_off_stream_is_an_error_with_its_place(tmp_path: Path, suffix: str) -> None:
    data = lines(100_000)
    raw = gzip.compress(data) if suffix == "gz" else zstandard.ZstdCompressor().compress(data)
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(raw[: len(raw) * 2 // 3])
    with pytest.raises(BadInput, match=r"cut off after [\d,]+ decompressed bytes"):
        streamed(path)


def test_a_damaged_stream_is_an_error(tmp_path: Path) -> None:
    data = lines(100_000)
    for raw in (gzip.compress(data), zstandard.ZstdCompressor(write_checksum=True).compress(data)):
        damaged = bytearray(raw)
        damaged[len(raw) // 2] ^= 0xFF
        path = tmp_path / "a"
        path.write_bytes(bytes(damaged))
        with pytest.raises(BadInput, match="damaged or cut off"):
            streamed(path)


def test_damaged_blocks_stand_where_their_records_stood(tmp_path: Path) -> None:
    data = lines(40_000)
    raw = bytearray(bz2.compress(data, 1))
    raw[len(raw) // 2] ^= 0xFF
    path = tmp_path / "a.bz2"
    path.write_bytes(bytes(raw))
    chunks = list(read_part(path, ByteRange(0, 0, len(raw))))
    problems = [c for c in chunks if c.problem]
    assert len(problems) == 1
    assert "damaged" in (problems[0].problem or "")
    kept = b"".join(c.data for c in chunks).splitlines()
    assert set(kept) < set(data.splitlines())
    assert len(kept) > 30_000


def test_a_record_without_end_is_a_problem_not_a_full_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LONGEST_RECORD", 2 << 20)
    path = tmp_path / "a"
    path.write_bytes(b"first\n" + b"x" * (5 << 20) + b"\nlast\n")
    plan = [ByteRange(0, 0, 3 << 20), ByteRange(1, 3 << 20, path.stat().st_size)]
    chunks = [c for part in plan for c in read_part(path, part)]
    assert [c.data for c in chunks if c.data] == [b"first\n", b"last\n"]
    assert len([c for c in chunks if c.problem]) == 1


def test_a_missing_file() -> None:
    with pytest.raises(Missing):
        parts.path_compression(Path("nowhere"))


def test_other_ways_to_compress_are_named(tmp_path: Path) -> None:
    file = tmp_path / "dump.json.xz"
    file.write_bytes(lzma.compress(b"[]"))
    with pytest.raises(BadInput, match="compressed by xz, which is not read here"):
        beginning(file)
