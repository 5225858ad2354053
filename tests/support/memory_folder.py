"""A folder in memory for what tests write: a fifth of their time was spent on removing and syncing small files."""

from __future__ import annotations

import os
import re
import shutil
from multiprocessing.util import Finalize
from pathlib import Path

MEMORY = Path("/dev/shm")
PREFIX = "whichone-tests-"
ROOM = 6 << 30
"""A whole run leaves 1.4 GB there; so much must be free in the file system, and twice as much of the memory."""


def memory_folder() -> Path | None:
    """A new folder, removed when this process ends; None where the system has no such place or too little of it."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM:
        return None
    available = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    if available is None or int(available[1]) * 1024 < 2 * ROOM:
        return None
    _remove_left()
    folder = MEMORY / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o711)  # a database server that runs as somebody else has a folder below
    # after multiprocessing has removed its own, at -100
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=-200)
    return folder


def _remove_left() -> None:
    """What runs that were killed have left would take memory until the next start of the machine."""
    for folder in MEMORY.glob(f"{PREFIX}*"):
        if not Path("/proc", folder.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(folder, ignore_errors=True)
