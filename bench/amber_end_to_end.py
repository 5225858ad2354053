"""From dumps to exported AmbER sets beside one plain pass over the same files.

    python bench/amber_end_to_end.py --entities 60000

Invents a world (20,000 shared names and about 80 MB of pages at the default size), reads its files
once with bz2 (gzip for the pages, unless `--pages bz2`) and json.loads, then types the commands a user would: ingest, and for each of
both collections, side by side where there are two cores, build and export. Pairs are wall and CPU
seconds of everything that was started; the least of several rounds counts.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measured import parsed, timed
from whichone.world.compile import KILT, VIEWS, WIKIDATA
from whichone.world.invent import Invention, write_invented

COLLECTIONS = ("human", "nonhuman")
Pair = tuple[float, float]

PLAIN_PASS = f"""
import bz2, gzip, json, sys
with bz2.open(sys.argv[1] + "/{WIKIDATA}") as file:
    for line in file:
        if len(line) > 3:
            json.loads(line.strip().rstrip(b","))
pages = sys.argv[2]
with (bz2 if pages.endswith("bz2") else gzip).open(pages) as file:
    for line in file:
        json.loads(line)
with bz2.open(sys.argv[1] + "/{VIEWS}") as file:
    for line in file:
        line.split()
"""


def whichone(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "whichone", *map(str, arguments)]


def typed(*chains: list[list[str]], at_once: bool = False) -> None:
    """Run chains of commands, one after the other or all at once."""
    shells = []
    for chain in chains:
        line = " && ".join(f"{' '.join(command)} > {os.devnull} 2>&1" for command in chain)
        shells.append(subprocess.Popen(line, shell=True))
        if not at_once:
            shells[-1].wait()
    if any(shell.wait() for shell in shells):
        raise SystemExit("a command failed")


def pages_file(world: Path, kind: str) -> Path:
    """The world's pages, packed anew where bzip2 is asked for."""
    if kind == "gz":
        return world / KILT
    packed = world / KILT.replace(".gz", ".bz2")
    packed.write_bytes(bz2.compress(gzip.decompress((world / KILT).read_bytes())))
    return packed


def ingest(world: Path, pages: Path, kb: Path) -> None:
    shutil.rmtree(kb, ignore_errors=True)
    files = ("--wikidata", world / WIKIDATA, "--pages", pages, "--views", world / VIEWS)
    typed([whichone("ingest", *files, "--properties", "amber", kb)])


def build_and_export(folder: Path, rules: str, corpus: str) -> None:
    chains = []
    for name in COLLECTIONS:
        bench, out = folder / f"bench-{name}", folder / f"out-{name}"
        for place in (bench, out):
            shutil.rmtree(place, ignore_errors=True)
        chosen = ("--collection", name, "--rules", rules, "--pages", corpus)
        chains.append(
            [
                whichone("build", "amber", folder / "kb", bench, *chosen),
                whichone("export", bench, out, "--format", "amber"),
            ]
        )
    typed(*chains, at_once=len(os.sched_getaffinity(0)) > 1)


def least(pairs: list[Pair]) -> list[float]:
    return [round(min(pair[n] for pair in pairs), 2) for n in range(2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=60_000)
    parser.add_argument("--words", type=int, default=90)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rules", choices=["paper", "published"], action="append")
    parser.add_argument("--pages", choices=["gz", "bz2"], default="gz")
    given = parsed(parser, small="--entities 1500 --words 30 --rounds 1")
    invention = Invention(entities=given.entities, seed=1, ambiguity=0.9, words=given.words)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["WHICHONE_CACHE"] = str(folder / "cache")
        world = folder / "world"
        result: dict[str, Any] = {"counts": write_invented(invention, world, workers=2)["counts"]}
        pages = pages_file(world, given.pages)
        rounds: dict[str, list[Pair]] = {}
        cases = [(r, c) for r in given.rules or ("paper", "published") for c in ("none", "all")]
        for _ in range(given.rounds):
            steps: dict[str, Callable[[], None]] = {
                "plain pass": lambda: typed(
                    [[sys.executable, str(folder / "plain.py"), str(world), str(pages)]]
                ),
                "ingest": lambda: ingest(world, pages, folder / "kb"),
            }
            for rules, corpus in cases:
                steps[f"{rules}, corpus {corpus}"] = lambda r=rules, c=corpus: build_and_export(folder, r, c)
            (folder / "plain.py").write_text(PLAIN_PASS)
            for name, step in steps.items():
                rounds.setdefault(name, []).append(timed(step))
        best = {name: least(pairs) for name, pairs in rounds.items()}
        result |= best
        result["all over the plain pass"] = {
            name: [round((best["ingest"][n] + best[name][n]) / best["plain pass"][n], 2) for n in range(2)]
            for name in (f"{rules}, corpus {corpus}" for rules, corpus in cases)
        }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
