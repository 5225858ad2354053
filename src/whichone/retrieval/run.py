"""A run on disk: rankings of all questions, failures, timing, and how it was made."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema

KIND = "run"

RANKINGS = TableSchema(
    "rankings",
    pa.schema(
        [
            ("question", pa.string()),
            ("rank", pa.int32()),  # from 1
            ("passage", pa.string()),  # a passage id, or a page id for page-level systems
            ("page", pa.string()),
            ("score", pa.float64()),
        ]
    ),
    ("question", "rank"),
)
FAILURES = TableSchema(
    "failures",
    pa.schema([("question", pa.string()), ("error", pa.string())]),
    ("question",),
)
NOTES = TableSchema(
    "notes",
    pa.schema([("question", pa.string()), ("notes", pa.string())]),
    ("question",),
)
TIMING = TableSchema(
    "timing",
    pa.schema([("question", pa.string()), ("seconds", pa.float64())]),
    ("question",),
)


class Run:
    """Rankings of every question of one benchmark by one system."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> Run:
        return cls(Folder.open(path, KIND))

    @property
    def path(self) -> Path:
        return self.folder.root

    @property
    def name(self) -> str:
        return self.folder.manifest.name

    @property
    def description(self) -> dict[str, Any]:
        """The system's full description: retriever, parameters, k."""
        return self.folder.manifest.parameters

    @property
    def benchmark_id(self) -> str:
        return self.folder.manifest.parents["benchmark"]

    @functools.cached_property
    def rankings(self) -> pa.Table:
        return self.folder.table("rankings")

    @functools.cached_property
    def failures(self) -> dict[str, str]:
        table = self.folder.table("failures")
        return dict(zip(table["question"].to_pylist(), table["error"].to_pylist(), strict=True))

    def benchmark(self, where: str | Path | None = None) -> Benchmark:
        """The benchmark this run is over: where it lay when the run was made, or where it is said."""
        return benchmark_of(self.folder, where)

    def ranked_pages(self) -> dict[str, list[str]]:
        """For each question the pages in order of their best passage, each once."""
        pages: dict[str, list[str]] = {}
        seen: set[tuple[str, str]] = set()
        table = self.rankings
        for question, page in zip(
            table["question"].to_pylist(), table["page"].to_pylist(), strict=True
        ):
            if (question, page) not in seen:
                seen.add((question, page))
                pages.setdefault(question, []).append(page)
        return pages


def benchmark_of(folder: Folder, where: str | Path | None = None) -> Benchmark:
    """The benchmark that a run or a folder of answers was made on."""
    own, kind = folder.manifest.parents["benchmark"], folder.manifest.kind
    place = where or folder.manifest.made.get("benchmark")
    if place is None:
        raise BadInput(
            "it does not say where its benchmark lies",
            file=folder.root,
            hint="name it with --benchmark",
        )
    benchmark = Benchmark.open(str(place))
    if benchmark.id != own:
        raise BadInput(
            f"the {kind} is over {own}, but {place} is {benchmark.id}",
            file=folder.root,
            hint="name the benchmark it was made on with --benchmark, or make it again",
        )
    return benchmark
