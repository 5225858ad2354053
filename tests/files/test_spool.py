"""Records on disk while a command works, and strings that came before."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.files import arrow_records as seen_file
from whichone.files.arrow_records import Seen, Selection, Spool, blocks
from whichone.records import Query


def asked(n: int) -> Query:
    return Query(id=str(n), task="qa", input=f"line\nand {n}", attributes={"n": n})


def test_a_spool_is_read_as_often_as_wanted_and_while_it_grows(tmp_path: Path) -> None:
    spool = Spool(Query, tmp_path / "not yet" / "there")
    assert not spool
    spool.extend(asked(n) for n in range(3))
    assert [q.id for q in spool] == ["0", "1", "2"]
    spool.append(asked(3))
    assert spool == [asked(n) for n in range(4)]
    assert spool != [asked(0)]
    assert (spool[2], spool[-1]) == (asked(2), asked(3))
    assert list(spool[1:3]) == [asked(1), asked(2)]
    with pytest.raises(IndexError):
        spool[4]
    assert list(tmp_path.iterdir()) == []  # its files have no name


def test_long_and_empty_lines_are_whole() -> None:
    texts = ["x" * 3_000_000, "", "y" * 1_048_570, "z"]
    assert list(Spool(str).extend(texts)) == texts


def test_half_of_a_surrogate_pair_is_named() -> None:
    with pytest.raises(BadInput, match="not valid Unicode"):
        Spool(str).append("\ud800")


def test_a_selection_reads_places() -> None:
    chosen = Selection(Spool(str).extend("abcdef"), [5, 0, 5])
    assert list(chosen) == ["f", "a", "f"]
    assert list(chosen[1:]) == ["a", "f"]
    assert len(chosen) == 3


def test_strings_that_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_file, "_RUN", 10)
    seen = Seen()
    for start in range(0, 100, 7):
        block = [f"id {n}" for n in range(start, start + 7)]
        assert seen.add(block, range(start, start + 7)) == [None] * 7
    assert len(seen) == 105
    assert seen.add(["id 3", "new", "id 104", "new"], [1, 2, 3, 4]) == [3, None, 104, 2]
    assert seen.numbers_of(["new", "id 99", "never"]) == [2, 99, None]
    assert len(seen) == 106


def test_blocks() -> None:
    assert list(blocks("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(blocks("", 2)) == []
