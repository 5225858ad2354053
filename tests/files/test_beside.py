"""Files written beside their place: whole or not at all, whatever happens to the writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whichone.files.output import written_beside

KILLED = """
import sys, time
from pathlib import Path
from whichone.files.output import written_beside
with written_beside(Path(sys.argv[1])) as beside:
    beside.write_text("a long text that is not whole")
    print(beside.name, flush=True)
    time.sleep(600)
"""


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_it_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with written_beside(path) as beside:
        beside.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert names(tmp_path) == ["file"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), written_beside(path) as beside:
        beside.write_text("after")
        raise ZeroDivisionError
    assert path.read_text() == "before"
    assert names(tmp_path) == ["file"]


def test_the_next_writer_takes_over_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() in names(tmp_path)
        with written_beside(path) as other:  # the first is still at work
            other.write_text("short")
        assert path.read_text() == "short"
        assert len(names(tmp_path)) == 2
        os.kill(process.pid, signal.SIGKILL)
    with written_beside(path) as beside:
        assert beside.read_bytes() == b""
        beside.write_text("whole")
    assert path.read_text() == "whole"
    assert names(tmp_path) == ["file"]


def test_two_writers_at_once_both_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with written_beside(path) as one:
        with written_beside(path) as two:
            one.write_text("one")
            two.write_text("two")
        assert path.read_text() == "two"
    assert path.read_text() == "one"
    assert names(tmp_path) == ["file"]


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("somebody's")
    (tmp_path / ".file.unfinished").symlink_to(other)
    with written_beside(tmp_path / "file") as beside:
        beside.write_text("ours")
    assert other.read_text() == "somebody's"
    assert (tmp_path / "file").read_text() == "ours"


def test_anybody_may_read_it_whom_the_mask_lets(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = os.umask(0o022)
    try:
        with written_beside(path) as beside:
            beside.write_text("text")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
