"""Spark beside DuckDB: rows a second of reading a dump and of AmbER's relational steps.

    python bench/spark.py --megabytes 100 400 --entities 50000 200000

Both engines run the same work on the same files and the same cores, each in a process of its own, at
two sizes: the difference between the sizes is what grows with the rows, the rest is what starting
costs. CPU seconds are those of all processes below the command, Java's too, as last seen.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from amber_build import make_knowledge_base
from measured import measure, parsed
from wikidata_like import write

ENGINES = ("duckdb", "spark")
_STEPS = """
import sys
from whichone.papers.amber.build_amber import opened_pipeline
from whichone.papers.amber.collection import load_collection
from whichone.papers.amber.collection import PAPER
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.options import EngineOptions
kb, engine, cores = sys.argv[1:]
with opened_pipeline(
    Folder.open(kb, KIND), load_collection("human"), PAPER, engine=EngineOptions(engine=engine, master=f"local[{cores}]")
) as pipeline:
    pipeline.run()
    pipeline.count("shared_names")
"""


def reading(engine: str, dump: Path, kb: Path, cores: int) -> list[str]:
    """Take in a dump: reading and merging on either engine."""
    return [
        sys.executable, "-m", "whichone", "ingest", "--wikidata", str(dump), "--properties", "amber",
        "--engine", engine, "--master", f"local[{cores}]", "--workers", str(cores), str(kb),
    ]  # fmt: skip


def relational(engine: str, kb: Path, cores: int) -> list[str]:
    """The relational steps of a build, paper's rules."""
    return [sys.executable, "-c", _STEPS, str(kb), engine, str(cores)]


def compared(rows: list[int], spent: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    """What one row costs each engine, from two sizes, and what is left for starting."""
    found: dict[str, Any] = {"rows": rows}
    each: dict[str, float] = {}
    for engine, ((cpu1, wall1), (cpu2, wall2)) in spent.items():
        each[engine] = max(cpu2 - cpu1, 1e-9) / (rows[1] - rows[0])
        found[engine] = {
            "cpu": [round(cpu1, 1), round(cpu2, 1)],
            "wall": [round(wall1, 1), round(wall2, 1)],
            "rows a CPU second": round(1 / each[engine]),
            "start, CPU s": round(cpu1 - each[engine] * rows[0], 1),
        }
    found["CPU of Spark over DuckDB, per row"] = round(each["spark"] / each["duckdb"], 2)
    return found


def run(command: list[str], cores: int) -> tuple[float, float]:
    """CPU and wall seconds of a command and all that it starts, Java too."""
    used = measure(command, cores=cores)
    if used.code:
        raise SystemExit(f"failed: {' '.join(command)}\n{used.output[-2000:]}")
    return used.cpu, used.wall


def measured(command: list[str], cores: int, repeats: int, fresh: Path | None) -> tuple[float, float]:
    best = (float("inf"), float("inf"))
    for _ in range(repeats):
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        best = min(best, run(command, cores))
    return best


def measured_reading(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    lines: list[int] = []
    spent: dict[str, list[tuple[float, float]]] = {engine: [] for engine in ENGINES}
    for size in given.megabytes:
        plain = folder / f"wikidata-{size}.json"
        write(plain, size * 1_000_000)
        with plain.open("rb") as file:
            lines.append(sum(1 for _ in file) - 2)
        subprocess.run([shutil.which("lbzip2") or "bzip2", str(plain)], check=True)
        for engine in ENGINES:
            kb = folder / "kb"
            command = reading(engine, plain.with_name(f"{plain.name}.bz2"), kb, given.cores)
            spent[engine].append(measured(command, given.cores, given.repeats, kb))
    return compared(lines, spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, nargs=2, default=[100, 400])
    parser.add_argument("--entities", type=int, nargs=2, default=[50_000, 200_000])
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", choices=("reading", "relational"))
    given = parsed(parser, small="--only relational --entities 300 600 --repeats 1")
    result: dict[str, Any] = {"cores": given.cores}
    with tempfile.TemporaryDirectory() as place:
        folder, cores = Path(place), given.cores
        if given.only != "relational":
            result["ingest (a row: an entity)"] = measured_reading(folder, given)
        if given.only == "reading":
            print(json.dumps(result, indent=1))
            return
        spent: dict[str, list[tuple[float, float]]] = {engine: [] for engine in ENGINES}
        for size in given.entities:
            base = folder / f"base-{size}"
            base.mkdir()
            make_knowledge_base(base, size, "3GB", 0)
            for engine in ENGINES:
                command = relational(engine, base / "kb", cores)
                spent[engine].append(measured(command, cores, given.repeats, None))
        names = [3 * size for size in given.entities]
        result["relational steps (a row: a name)"] = compared(names, spent)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
