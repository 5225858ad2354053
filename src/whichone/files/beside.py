"""Files written beside their place and moved there: whole or not at all, and nothing left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from whichone.files.output import is_unchanged


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """An empty file to fill; at the end of the block it takes its place, after an error it goes.

    Writers of one place share one file name, so that what a killed one left is taken over by the next. A
    lock tells a killed writer from one at work, beside which another name is used.
    """
    beside = path.with_name(f".{path.name}.unfinished")
    handle = _take(beside)
    if handle is None:
        beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.unfinished")
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        yield beside
        if is_unchanged(path, beside):
            beside.unlink()
        else:
            beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def _take(beside: Path) -> int | None:
    """The file, emptied and locked; or nothing where another writer has it, or another user."""
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError:
        return None
    if _lock(handle) and _lies_at(beside, handle):
        os.ftruncate(handle, 0)
        return handle
    os.close(handle)
    return None


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _lies_at(path: Path, handle: int) -> bool:
    """Whether the file is still there, not moved to its place by who had it before."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
