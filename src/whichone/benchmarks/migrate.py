"""Turns folders of the first format into the present one."""

from __future__ import annotations

import shutil
from pathlib import Path

from whichone.benchmarks.benchmark import MIGRATED, Benchmark, save_benchmark
from whichone.benchmarks.benchmark_tables import KIND
from whichone.errors import BrokenFolder
from whichone.files.folder import Folder, folder_kinds
from whichone.progress import talk

_OLD = "passages.parquet"
_KEPT = {_OLD, "queries.parquet", "sets.parquet", "card.md"}


def migrate(root: str | Path) -> list[Path]:
    """Migrate the benchmark at this place, or every one below it; which were turned.

    Runs, answers and knowledge bases of the first format are read as they are. A migrated benchmark
    keeps its id, so that runs over it still match.
    """
    places = [place for place, kind in folder_kinds(Path(root)) if kind == KIND]
    turned = [place for place in places if Folder.open(place, KIND).has(_OLD)]
    for place in turned:
        _turn(place)
        talk(f"{place}: its passages are a corpus now")
    return turned


def _turn(place: Path) -> None:
    old = Benchmark.open(place)
    old.folder.verify()
    new, before = place.with_name(f".{place.name}.new"), place.with_name(f".{place.name}.old")
    manifest = old.folder.manifest
    files = {
        name: old.folder.path(name).read_bytes() for name in manifest.files if name not in _KEPT
    }
    saved = save_benchmark(
        new,
        name=old.name,
        queries=old.queries,
        passages=old.passages,
        sets=old.sets,
        card=old.card,
        parameters=manifest.parameters,
        sources=manifest.sources,
        parents={**manifest.parents, MIGRATED: old.id},
        counts=manifest.counts,
        allow_no_gold=True,
        files=files,
    )
    if saved.id != old.id or len(saved.queries) != len(old.queries):
        raise BrokenFolder("the migrated benchmark differs from the old one", file=place)
    place.rename(before)
    new.rename(place)
    shutil.rmtree(before)
