"""Exact dense search with less memory than vectors, beside the same search without a limit.

    python bench/dense_limited.py --passages 2000000 --width 768 --limit 1000 --place /tmp/dense

Passages, vectors (float16) and 1,000 questions are invented and indexed once. Then the questions are asked twice, each time in
a process of its own with no page of the index in memory: without a limit, and in a control group of `--limit` MB, in which the
pages of mapped files count too. Making the group needs root on Linux. Equal rankings, time, bytes read from the disk and the
group's peak are printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from growth import need_benchmark, need_corpus
from measured import parsed

GROUPS = Path("/sys/fs/cgroup")
FIRST = ("memory.limit_in_bytes", "memory.max_usage_in_bytes")
SECOND = ("memory.max", "memory.peak")


class Drawn:
    """Vectors that a text decides: of questions by each, of passages by the first of a block."""

    def __init__(self, size: int) -> None:
        self.size = size

    def questions(self, texts: Sequence[str]) -> np.ndarray:
        return np.concatenate([self._rows(text, 1) for text in texts])

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts[0], len(texts))

    def _rows(self, text: str, count: int) -> np.ndarray:
        generator = np.random.default_rng(zlib.crc32(text.encode()))
        return generator.standard_normal((count, self.size), np.float32)

    def describe(self) -> dict[str, object]:
        return {"encoder": "drawn", "size": self.size}


class Group:
    """A control group with a limit of memory, of the first or the second version."""

    def __init__(self, limit: int) -> None:
        second = (GROUPS / "cgroup.controllers").exists()
        self._folder = (GROUPS if second else GROUPS / "memory") / f"whichone-{os.getpid()}"
        limits, self._peak = (self._folder / name for name in (SECOND if second else FIRST))
        self._folder.mkdir()
        limits.write_text(str(limit))

    def enter(self) -> None:
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> int:
        return int(self._peak.read_text())

    def remove(self) -> None:
        self._folder.rmdir()


def forget(place: Path) -> None:
    """Let the system drop its copies of files in memory: what another process has read counts in no group."""
    os.sync()
    for file in (f for f in place.rglob("*") if f.is_file()):
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def ask(place: Path, width: int) -> None:
    """In a process of its own: all questions, and what they took."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.retrieval.dense import Dense
    from whichone.runs.runner import run_retriever

    started = time.perf_counter()
    retriever = Dense.open(place / "index", encoder=Drawn(width))
    shutil.rmtree(place / "run", ignore_errors=True)
    run = run_retriever(retriever, Benchmark.open(place / "benchmark"), place / "run", k=20, name="dense")
    seconds, cpu = time.perf_counter() - started, time.process_time()
    rows = json.dumps(run.rankings.select(["question", "passage"]).to_pydict())
    said = {
        "seconds": seconds,
        "cpu": cpu,
        "read": _counter("/proc/self/io", "read_bytes"),
        "own": _counter("/proc/self/status", "RssAnon") * 1024,
        "rankings": hashlib.sha256(rows.encode()).hexdigest(),
    }
    print(json.dumps(said))


def _counter(file: str, name: str) -> int:
    lines = (line.split() for line in Path(file).read_text().splitlines())
    return next(int(words[1]) for words in lines if words[0] == f"{name}:")


def asked(place: Path, width: int, group: Group | None) -> dict[str, float]:
    forget(place)
    command = [sys.executable, __file__, "--inside", "--width", str(width), "--place", str(place)]
    enter = None if group is None else group.enter
    done = subprocess.run(command, preexec_fn=enter, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def need_index(place: Path, size: int, width: int) -> int:
    """Bytes of its vectors."""
    from whichone.corpus.corpus import Corpus
    from whichone.retrieval.dense import Dense

    if not (place / "index" / "manifest.json").exists():
        Dense.build(Corpus.open(need_corpus(place, size)), place / "index", encoder=Drawn(width))
    return sum(file.stat().st_size for file in (place / "index").rglob("vectors-*.npy"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--passages", type=int, default=2_000_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--limit", type=int, default=1_000, help="MB of memory, mapped files included")
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parsed(parser, small="--passages 2000 --width 32 --limit 600 --place {place}")
    if given.inside:
        ask(given.place, given.width)
        return
    given.place.mkdir(parents=True, exist_ok=True)
    vectors = need_index(given.place, given.passages, given.width)
    need_benchmark(given.place, given.passages)
    print(f"{given.passages:,} passages, {vectors / 1e6:,.0f} MB of vectors", flush=True)
    free = asked(given.place, given.width, None)
    show("no limit", free)
    group = Group(given.limit * 1_000_000)
    try:
        limited = asked(given.place, given.width, group)
        show(f"{given.limit:,} MB", limited)
        print(
            f"peak of the group {group.peak() / 1e6:,.0f} MB, vectors {vectors / group.peak():.1f} times as much"
        )
    finally:
        group.remove()
    ratios = (f"{name} {limited[name] / free[name]:.2f}" for name in ("seconds", "cpu"))
    print(
        f"limited against free: {', '.join(ratios)}; rankings equal: {limited['rankings'] == free['rankings']}"
    )


def show(name: str, said: dict[str, float]) -> None:
    print(
        f"{name}: {said['seconds']:.0f} s, {said['cpu']:.0f} CPU s, {said['read'] / 1e6:,.0f} MB read,"
        f" {said['own'] / 1e6:.0f} MB own memory",
        flush=True,
    )


if __name__ == "__main__":
    main()
