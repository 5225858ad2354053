"""Taking in a Wikidata dump beside decompressing it, in one run.

    python bench/ingest_wikidata.py --megabytes 1000 --workers 2

The dump is invented (`wikidata_like.py`). Every step is a process of its own and is run several
times, in turn; the least CPU time of each counts. Yardsticks: lbzip2 -d on as many cores for bzip2,
and Python's own bz2 module, decompressing only, for gzip and zstd on one core.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measured import measure, parsed, skip
from wikidata_like import write

_DECOMPRESS = """
import bz2, sys
with bz2.open(sys.argv[1]) as file:
    while file.read(1 << 20): pass
"""


class Measured:
    """The best of several runs of one command."""

    def __init__(self) -> None:
        self.cpu = self.wall = float("inf")
        self.memory = 0

    def add(self, cpu: float, wall: float, memory: int) -> None:
        self.cpu, self.wall = min(self.cpu, cpu), min(self.wall, wall)
        self.memory = max(self.memory, memory)


def run(command: Sequence[str], cores: int) -> tuple[float, float, float]:
    """CPU and wall seconds of the command and all that it starts, peak memory in MB."""
    used = measure(command, cores=cores)
    if used.code:
        raise SystemExit(f"failed: {' '.join(command)}\n{used.output[-2000:]}")
    return used.cpu, used.wall, used.peak


def ingest(dump: Path, kb: Path, workers: int, properties: str, memory: str) -> list[str]:
    return [
        sys.executable, "-m", "whichone", "ingest", "--wikidata", str(dump), "--workers", str(workers),
        "--properties", properties, "--memory", memory, "--restart", str(kb),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", default="500MB")
    parser.add_argument("--folder", type=Path, help="keep the dumps here")
    options = parsed(parser, small="--megabytes 2 --repeats 1")
    absent = [tool for tool in ("lbzip2", "gzip", "zstd") if shutil.which(tool) is None]
    if absent and options.small:
        skip(f"{absent[0]} is not installed")
    with tempfile.TemporaryDirectory() as temporary:
        compare(options, options.folder or Path(temporary))


def prepared(folder: Path, megabytes: int) -> Path:
    plain = folder / f"wikidata-{megabytes}.json"
    if not plain.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write(plain, megabytes * 1_000_000)
        for packer in (["lbzip2", "-k"], ["gzip", "-k", "-6"], ["zstd", "-q", "-3"]):
            subprocess.run([*packer, str(plain)], check=True)
    return plain


def compare(options: argparse.Namespace, folder: Path) -> None:
    plain = prepared(folder, options.megabytes)
    bz2, gz, zst = (plain.with_name(f"{plain.name}.{s}") for s in ("bz2", "gz", "zst"))
    cores, kb, memory = options.workers, folder / "kb", options.memory
    steps = {
        f"lbzip2 -d, {cores} cores": (["lbzip2", "-n", str(cores), "-dc", str(bz2)], cores),
        f"ingest bz2, {cores} cores, amber": (ingest(bz2, kb, cores, "amber", memory), cores),
        f"ingest bz2, {cores} cores, all": (ingest(bz2, kb, cores, "all", memory), cores),
        "Python bz2, 1 core": ([sys.executable, "-c", _DECOMPRESS, str(bz2)], 1),
        "ingest gz, 1 core, amber": (ingest(gz, kb, 1, "amber", memory), 1),
        "ingest zst, 1 core, amber": (ingest(zst, kb, 1, "amber", memory), 1),
        "ingest zst, 1 core, all": (ingest(zst, kb, 1, "all", memory), 1),
    }
    measured = {name: Measured() for name in steps}
    for _ in range(options.repeats):
        for name, (command, allowed) in steps.items():
            shutil.rmtree(kb, ignore_errors=True)
            measured[name].add(*run(command, allowed))
    yardstick = 0.0
    print(f"{options.megabytes} MB of JSON, {bz2.stat().st_size / 1e6:.0f} MB as bz2")
    print(f"{'':34}{'CPU s':>8}{'wall s':>8}{'ratio':>8}{'MB':>7}")
    for name, found in measured.items():
        if not name.startswith("ingest"):
            yardstick = found.cpu
        ratio = found.cpu / yardstick
        print(f"{name:34}{found.cpu:8.1f}{found.wall:8.1f}{ratio:8.2f}{found.memory:7.0f}")


if __name__ == "__main__":
    main()
