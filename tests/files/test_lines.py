"""Lines and JSON, compressed or not, with errors that name the line."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest
import zstandard

from whichone.errors import BadInput, Missing
from whichone.files.lines import read_json, read_json_lines, read_lines, write_atomic, write_json_lines

TEXT = b'{"a": 1}\n\n{"a": 2}\r\n'


@pytest.mark.parametrize(
    "pack",
    [
        lambda b: b,
        gzip.compress,
        bz2.compress,
        zstandard.ZstdCompressor().compress,
        lambda b: gzip.compress(b[:5]) + gzip.compress(b[5:]),
        lambda b: bz2.compress(b[:5]) + bz2.compress(b[5:]),
    ],
)
def test_compression_is_told_by_the_first_bytes(tmp_path: Path, pack) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(TEXT))
    assert list(read_json_lines(path)) == [(1, {"a": 1}), (3, {"a": 2})]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n')
    with pytest.raises(BadInput, match=r"f\.jsonl:2: not the JSON"):
        list(read_json_lines(path))


def test_invalid_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"a": "\xff\xfe"}\n')
    with pytest.raises(BadInput, match=r"f\.jsonl:1"):
        list(read_json_lines(path))


def test_a_truncated_file_says_where_it_stops(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(TEXT * 1000)[:-20])
    with pytest.raises(BadInput, match="damaged after line"):
        list(read_lines(path))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no such file"):
        list(read_lines(tmp_path / "none"))


def test_written_lines_read_back_and_gzip_has_no_time(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        assert write_json_lines(tmp_path / name, [{"n": 1}, {"n": 2}]) == 2
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert [r for _, r in read_json_lines(tmp_path / "a.jsonl.gz")] == [{"n": 1}, {"n": 2}]


def test_write_atomic_leaves_nothing_beside(tmp_path: Path) -> None:
    write_atomic(tmp_path / "f", b"one")
    write_atomic(tmp_path / "f", b"two")
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
    with pytest.raises(BadInput, match="cannot be written"):
        write_atomic(tmp_path / "no" / "f", b"")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes('\ufeff{"a": 1}\n{"a": 2}\n'.encode())
    assert [record for _, record in read_json_lines(tmp_path / "f.jsonl")] == [{"a": 1}, {"a": 2}]
    (tmp_path / "f.json").write_bytes('\ufeff{"a": 1}'.encode())
    assert read_json(tmp_path / "f.json") == {"a": 1}
