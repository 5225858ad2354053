"""A folder of results over a benchmark: what a run and a folder of answers have in common, and what their system saw."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema

MARK = "‡"
NOTE = f"{MARK} saw more than the corpus"
_OF_THE_BENCHMARK = ("gold", "bearer")
"""Settings of reading that show passages chosen by who is asked about."""


def sees(folder: Folder) -> tuple[str, ...]:
    """As the run's or answers' manifest has it; empty where nothing is said."""
    parameters, created = folder.manifest.parameters, folder.manifest.made
    said = parameters.get("sees") or created.get("sees") or ()
    results = [said] if isinstance(said, str) else [str(word) for word in said]
    reader = parameters.get("reader")
    if isinstance(reader, dict):
        own = reader.get("sees") or ()
        results += [own] if isinstance(own, str) else [str(word) for word in own]
    setting = parameters.get("setting")
    shown = str(setting.get("passages", "")) if isinstance(setting, dict) else ""
    if any(word in shown for word in _OF_THE_BENCHMARK):
        results.append("gold")
    return tuple(dict.fromkeys(results))


def more_than_corpus(seen: tuple[str, ...]) -> tuple[str, ...]:
    """What a fair comparison over the corpus alone would not have."""
    return tuple(word for word in seen if word not in ("corpus", "questions"))


FAILURES = TableSchema(
    "failures",
    pa.schema([("question", pa.string()), ("error", pa.string())]),
    ("question",),
)


class Results:
    """What one system gave to the questions of one benchmark, and the questions it failed at."""

    kind: ClassVar[str]

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> Self:
        return cls(Folder.open(path, cls.kind))

    @property
    def path(self) -> Path:
        return self.folder.root

    @property
    def name(self) -> str:
        return self.folder.manifest.name

    @property
    def description(self) -> dict[str, Any]:
        """The system's full description, with every parameter."""
        return self.folder.manifest.parameters

    @property
    def benchmark_id(self) -> str:
        return self.folder.manifest.parents["benchmark"]

    @functools.cached_property
    def failures(self) -> dict[str, str]:
        """Questions that could not be answered, with the error."""
        table = self.folder.table(FAILURES.name)
        return dict(zip(table["question"].to_pylist(), table["error"].to_pylist(), strict=True))

    def benchmark(self, where: Where | None = None) -> Benchmark:
        """The benchmark these are over: where it was when they were made, or where it is said.

        Of several the places of all are named.
        """
        place: Where | None = where or self.folder.manifest.made.get("benchmark")
        if place is None:
            raise BadInput(
                "it does not say where its benchmark is",
                file=self.path,
                hint="name it with --benchmark",
            )
        benchmark = Benchmark.open(place)
        if benchmark.id != self.benchmark_id:
            named = place if isinstance(place, str | Path) else benchmark.place
            raise BadInput(
                f"the {self.kind} is over {self.benchmark_id}, but {named} is {benchmark.id}",
                file=self.path,
                hint="name the benchmark it was made on with --benchmark, or make it again",
            )
        return benchmark
