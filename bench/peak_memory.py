"""Peak memory of a process and its children, mapped files apart: RssAnon, sampled from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EVERY = 0.05


@dataclass(frozen=True)
class Usage:
    """What a command took: RssAnon in MB, CPU and wall seconds (children included), and its output."""

    peak: float
    cpu: float
    wall: float
    output: str
    code: int


def measure(command: Sequence[str], timeout: float | None = None) -> Usage:
    """Run a command and watch it; 124 is the code of one that ran out of time."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak, cpu, done = 0, 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak, cpu
        times: dict[int, float] = {}
        while not done.wait(EVERY):
            tree = descendants(process.pid)
            peak = max(peak, sum(map(anonymous, tree)))
            times.update((pid, cpu_seconds(pid)) for pid in tree)
            cpu = max(cpu, sum(times.values()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        output, code = process.communicate(timeout=timeout)[0], process.returncode
    except subprocess.TimeoutExpired:
        for pid in descendants(process.pid):  # children would keep the output open
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        output, code = process.communicate()[0], 124
    done.set()
    watcher.join()
    return Usage(peak / 1024, cpu, time.monotonic() - started, output, code)


def descendants(pid: int) -> list[int]:
    """A process and all that it started."""
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        fields = _read(file).rpartition(")")[2].split()
        if fields:
            children.setdefault(int(fields[1]), []).append(int(file.parent.name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def anonymous(pid: int) -> int:
    """Resident memory in kB that is no file's; where the system does not say, all but what is shared."""
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    fields = _read(Path(f"/proc/{pid}/statm")).split()
    return (int(fields[1]) - int(fields[2])) * 4 if len(fields) > 2 else 0


def cpu_seconds(pid: int) -> float:
    """User and system time so far, of the process alone."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100 if fields else 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
