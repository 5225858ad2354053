"""The runs over a benchmark that a question about it is answered from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.errors import Missing, UsageError
from whichone.files.folder import folder_kinds
from whichone.files.manifest import MANIFEST, decode_manifest
from whichone.progress import talk
from whichone.runs.run import KIND as RUN
from whichone.runs.run import Run


def pilot_runs(folders: Sequence[str]) -> tuple[str | None, list[str]]:
    """A benchmark's place, where one is among the folders, and the runs; without runs, those stored beside it."""
    places = [folder for folder in folders if _kind(folder) == BENCHMARK]
    runs = [folder for folder in folders if folder not in places]
    if len(places) > 1:
        raise UsageError(f"{len(places)} benchmarks are named, one is wanted")
    if not places:
        return None, runs
    return places[0], runs or runs_beside(places[0])


def runs_beside(place: str) -> list[str]:
    """Runs over a benchmark in the folder where it is, and in the folders there."""
    benchmark = Benchmark.open(place)
    runs = [
        str(path)
        for path, kind in folder_kinds(Path(place).resolve().parent)
        if kind == RUN and Run.open(path).benchmark_id == benchmark.id
    ]
    if len(runs) < 2:
        raise Missing(
            f"{len(runs) or 'no'} runs over {benchmark.name} are stored beside it, two or more are wanted",
            where=place,
            hint=f"whichone retrieve {place} RUN_A --retriever bm25, another RUN_B, then power {place} RUN_A RUN_B",
        )
    talk(f"from {len(runs)} runs: {', '.join(Path(run).name for run in runs)}")
    return runs


def _kind(folder: str) -> str:
    manifest = Path(folder) / MANIFEST
    return decode_manifest(manifest).kind if manifest.is_file() else ""
