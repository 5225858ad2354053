"""From dumps to exported AmbER sets beside one plain pass over the same files.

    python bench/amber_end_to_end.py --entities 60000

Invents a world (20,000 shared names and about 80 MB of pages at the default size), reads its files
once with bz2, gzip and json.loads, then ingests them, builds both collections for three tasks and
exports them, all in one process; pairs are wall and CPU seconds, those of worker processes included.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whichone.benchmarks.amber.build import build_amber
from whichone.benchmarks.amber.collection import load_collection
from whichone.benchmarks.amber.corpus import Extent
from whichone.benchmarks.amber.files import export_amber
from whichone.benchmarks.amber.rules import PAPER, PUBLISHED
from whichone.knowledge.ingest import Options, ingest
from whichone.knowledge.readers.wikidata import Selection
from whichone.knowledge.sources.pages import pages_source
from whichone.knowledge.sources.views import ViewsFile
from whichone.knowledge.sources.wikidata import WikidataDump
from whichone.world.compile import KILT, VIEWS, WIKIDATA
from whichone.world.invent import Invention
from whichone.world.write_invented import write_invented

PROPERTIES = tuple(
    dict.fromkeys(
        (*load_collection("human").property_ids, *load_collection("nonhuman").property_ids,
         "P3095", "P1535")
    )
)  # fmt: skip


def cpu() -> float:
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(s.ru_utime + s.ru_stime for s in spent)


def timed(work: Callable[[], Any]) -> list[float]:
    wall, before = time.perf_counter(), cpu()
    work()
    return [round(time.perf_counter() - wall, 2), round(cpu() - before, 2)]


def plain_pass(world: Path) -> None:
    """The yardstick: decompress and parse every line."""
    with bz2.open(world / WIKIDATA) as file:
        for line in file:
            if len(line) > 3:
                json.loads(line.strip().rstrip(b","))
    with gzip.open(world / KILT) as pages:
        for line in pages:
            json.loads(line)
    with bz2.open(world / VIEWS) as file:
        for line in file:
            line.split()


def take_in(world: Path, kb: Path, workers: int) -> None:
    selection = Selection(properties=PROPERTIES)
    sources = [
        WikidataDump(world / WIKIDATA, selection),
        pages_source(world / KILT),
        ViewsFile(world / VIEWS),
    ]
    ingest(kb, sources, Options(workers=workers))


def build_and_export(folder: Path, rules: Any, extent: Extent) -> None:
    for name in ("human", "nonhuman"):
        out = folder / f"{rules.name}-{extent}-{name}"
        made, _ = build_amber(folder / "kb", out, load_collection(name), rules, extent=extent)
        export_amber(made, folder / f"{out.name}-files")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=60_000)
    parser.add_argument("--words", type=int, default=90)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    invention = Invention(entities=given.entities, seed=1, ambiguity=0.9, words=given.words)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        summary = write_invented(invention, folder / "world", workers=given.workers)
        result: dict[str, Any] = {"counts": summary["counts"]}
        plain = timed(lambda: plain_pass(folder / "world"))
        result["plain pass"] = plain
        took = timed(lambda: take_in(folder / "world", folder / "kb", given.workers))
        result["ingest"] = took
        for rules in (PAPER, PUBLISHED):
            for extent in ("none", "all"):
                built = timed(lambda r=rules, e=extent: build_and_export(folder, r, e))
                result[f"{rules.name}, corpus {extent}"] = {
                    "build and export": built,
                    "all over plain": [round((took[n] + built[n]) / plain[n], 2) for n in range(2)],
                }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
