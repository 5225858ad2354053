"""What a command or a call takes, with all processes that it starts; and the `--small` of every program in this folder.

CPU time is the kernel's own count: a process that is left behind, such as the one that workers are forked from, becomes
a child of this one and is waited for. Memory is Pss_Anon (mapped files apart, shared pages once), sampled from outside.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import ctypes
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import NoReturn

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # commands run as installed, their modules compiled

EVERY = 0.05
_ADOPT = 36  # PR_SET_CHILD_SUBREAPER
ROOT = Path(__file__).resolve().parents[1]


def parsed(parser: argparse.ArgumentParser, small: str) -> argparse.Namespace:
    """What was typed; with `--small` what takes seconds, which what else was typed wins over.

    In `small`, {place} is a folder for the time of the program, {world} one with an invented world's dumps, {model} one
    with a small encoder, and {shared} the folder of real data.
    """
    parser.add_argument("--small", action="store_true", help=f"seconds on a CPU: {small}")
    typed = sys.argv[1:]
    if "--small" not in typed:
        return parser.parse_args()
    shared = Path(os.environ.get("WHICHONE_SHARED", ROOT.parent / "shared"))
    if "{shared}" in small and not shared.is_dir():
        skip(f"{shared} is not here")
    place = Path(tempfile.mkdtemp(prefix="bench-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    (place / "work").mkdir()
    world, model = place / "world", models_folder() / "all-MiniLM-L6-v2"
    if "{world}" in small:
        from whichone.world.invent import Invention, write_invented

        write_invented(Invention(entities=300, seed=1, ambiguity=0.9, words=20), world)
    if "{model}" in small and not model.is_dir():
        skip(f"{model} is not here: ./dev models all-MiniLM-L6-v2")
    chosen = small.format(place=place / "work", world=world, model=model, shared=shared)
    return parser.parse_args([*shlex.split(chosen), *typed])


def models_folder() -> Path:
    return Path(os.environ.get("WHICHONE_MODELS", ROOT / ".models"))


def skip(reason: str) -> NoReturn:
    """End a small run that this machine cannot do."""
    print(f"skipped: {reason}")
    sys.exit(0)


def cpu_spent() -> float:
    """CPU seconds of this process and of all that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def wait_for_all(known: Sequence[int]) -> None:
    """Wait for processes that ended commands left behind; `known` ones are somebody else's to wait for.

    The servers that multiprocessing keeps until this process ends are ended first: their workers' time counts too.
    """
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
    for pid in set(_children(os.getpid())) - set(known):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of a call, its workers included."""
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    known = _children(os.getpid())
    wall, before = time.perf_counter(), cpu_spent()
    work()
    wall = time.perf_counter() - wall
    wait_for_all(known)
    return wall, cpu_spent() - before


def run(command: Sequence[str]) -> int:
    """The exit code of a command, after all that it started has ended; `cpu_spent` has counted them then."""
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    known = _children(os.getpid())
    code = subprocess.run(command).returncode
    wait_for_all(known)
    return code


@dataclass(frozen=True)
class Usage:
    """What a command took: memory in MB, CPU and wall seconds (children included), and its output."""

    peak: float
    cpu: float
    wall: float
    output: str
    code: int


def measure(command: Sequence[str], timeout: float | None = None, cores: int | None = None) -> Usage:
    """Run a command and watch it; 124 is the code of one that ran out of time. `cores` is how many it may use."""
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    known, before = _children(os.getpid()), resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
    )  # fmt: skip
    peak, done = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(EVERY):
            tree = descendants(process.pid)
            peak = max(peak, sum(map(anonymous, tree)))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        output, code = process.communicate(timeout=timeout)[0], process.returncode
    except subprocess.TimeoutExpired:
        for own in set(_children(os.getpid())) - set(known):  # also what ended commands left behind
            for pid in descendants(own):  # they would keep the output open
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        output, code = process.communicate()[0], 124
    wall = time.monotonic() - started
    done.set()
    watcher.join()
    wait_for_all(known)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Usage(peak / 1024, cpu, wall, output, code)


def _children(pid: int) -> list[int]:
    return [int(n) for n in _read(Path(f"/proc/{pid}/task/{pid}/children")).split()]


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
    """Resident memory in kB that is no file's, a page that processes share divided among them.

    Where the system does not say: with all of each shared page, or all but what is shared.
    """
    for file, name in (("smaps_rollup", "Pss_Anon:"), ("status", "RssAnon:")):
        for line in _read(Path(f"/proc/{pid}/{file}")).splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    fields = _read(Path(f"/proc/{pid}/statm")).split()
    return (int(fields[1]) - int(fields[2])) * 4 if len(fields) > 2 else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
