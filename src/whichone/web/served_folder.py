"""The benchmarks and runs that the pages show: found once on disk, named by their content.

A request names a benchmark or a run by a few hex digits that are looked up here; no text of a
request ever becomes a path.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.benchmarks.several import part_ids
from whichone.corpus.corpus import Corpus
from whichone.errors import WhichoneError
from whichone.files.folder import Folder, folder_kinds
from whichone.files.output import cache_folder
from whichone.names import fold
from whichone.runs.run import ANSWERS_KIND as ANSWERS
from whichone.runs.run import KIND as RUN
from whichone.web.explorer.indexes import Indexes

_FRESH = 10.0
"""Seconds before the folder is looked through again."""


@dataclass(frozen=True)
class ServedRun:
    """A run of a served benchmark."""

    key: str
    name: str
    folder: Folder

    @property
    def sees(self) -> str:
        """What the system was given beside the questions, as its manifest says."""
        parameters = self.folder.manifest.parameters
        sees = parameters.get("sees") or self.folder.manifest.made.get("sees") or ()
        return sees if isinstance(sees, str) else ", ".join(map(str, sees))


@dataclass(frozen=True)
class ServedBenchmark:
    """One benchmark with its runs."""

    key: str
    id: str
    name: str
    place: str
    folder: Folder
    runs: dict[str, ServedRun] = field(default_factory=dict)
    answers: list[Folder] = field(default_factory=list)

    def open(self) -> Benchmark:
        """Opened afresh, so that its tables leave memory with whoever asked for them."""
        return Benchmark(self.folder)

    @property
    def corpus(self) -> Corpus:
        """Its corpus; mapped, so that it may stay open."""
        return corpus_of(self.folder.root, self.key)

    def tasks(self) -> frozenset[str]:
        """The tasks of its queries."""
        return _tasks(self.folder.path("queries.parquet"), self.key)

    def questions(self) -> frozenset[str]:
        """The words of every query, as `search_key.fold` compares them."""
        return _questions(self.folder.path("queries.parquet"), self.key)


@functools.lru_cache(256)
def _tasks(queries: Path, key: str) -> frozenset[str]:
    """`key` is the content's, so that a folder that was made again is read again."""
    import pyarrow.parquet as pq

    return frozenset(pq.read_table(queries, columns=["task"])["task"].unique().to_pylist())


@functools.lru_cache(64)
def corpus_of(root: Path, key: str) -> Corpus:
    return Benchmark.open(root).corpus


@functools.lru_cache(64)
def _questions(queries: Path, key: str) -> frozenset[str]:
    import pyarrow.parquet as pq

    return frozenset(map(fold, pq.read_table(queries, columns=["input"])["input"].to_pylist()))


class ServedFolder:
    """Everything below one folder or several, or the built-in benchmark when there is none."""

    def __init__(self, root: Path | None, *more: Path, cache: Path | None = None) -> None:
        self.root = root
        self._roots = [*([root] if root is not None else []), *more]
        self.indexes = Indexes((cache or cache_folder()) / "web")
        self._lock = threading.Lock()
        self._benchmarks: dict[str, ServedBenchmark] = {}
        self.strays: list[str] = []
        """Runs whose benchmark is not below the folder, and folders that could not be opened."""
        self._looked = 0.0

    def benchmarks(self) -> dict[str, ServedBenchmark]:
        with self._lock:
            if time.monotonic() - self._looked > _FRESH or not self._looked:
                self._look()
            return self._benchmarks

    def look_again(self) -> None:
        with self._lock:
            self._looked = 0.0

    def benchmark(self, key: str) -> ServedBenchmark | None:
        return self.benchmarks().get(key)

    def benchmark_index(self, served: ServedBenchmark) -> Path:
        return self.indexes.of_benchmark(served.folder)

    def run_index(self, served: ServedBenchmark, run: ServedRun) -> Path:
        return self.indexes.of_run(run.folder, served.folder)

    def _look(self) -> None:
        benchmarks: dict[str, ServedBenchmark] = {}
        runs: list[Folder] = []
        strays: list[str] = []
        for place, kind in self._folders():
            if kind not in (BENCHMARK, RUN, ANSWERS):
                continue
            try:
                folder = Folder.open(place, kind)
            except WhichoneError as error:
                strays.append(f"{place.name}: {error.message}")
                continue
            if kind in (RUN, ANSWERS):
                runs.append(folder)
            else:
                served = _served_benchmark(folder, str(place))
                benchmarks.setdefault(served.key, served)
        for served in _builtin_benchmarks(runs):
            benchmarks.setdefault(served.key, served)
        for served in self._several_together(runs, list(benchmarks.values())):
            benchmarks.setdefault(served.key, served)
        by_id = {served.id: served for served in benchmarks.values()}
        for folder in runs:
            asked = folder.manifest.parents.get("benchmark", "")
            home = by_id.get(asked)
            if home is None:
                strays.append(
                    f"{folder.root.name} ({folder.manifest.name}): its benchmark {asked} is not here;"
                    " put it below the folder that is served"
                )
            elif folder.manifest.kind == ANSWERS:
                home.answers.append(folder)
            else:
                _put(home, folder)
        self._benchmarks, self.strays, self._looked = benchmarks, strays, time.monotonic()

    def _several_together(
        self, runs: Sequence[Folder], known: Sequence[ServedBenchmark]
    ) -> Iterator[ServedBenchmark]:
        """Benchmarks over one corpus as one: those that a run was asked, and those named at the start."""
        opened = {served.id: Benchmark(served.folder) for served in known}
        wanted: dict[str, Where] = {}
        for run in runs:
            if named := part_ids(run.manifest.parents):
                whole = all(part in opened for part in named)
                then = run.manifest.made.get("benchmark", [])
                wanted[" ".join(named)] = [opened[part] for part in named] if whole else then
        given = [b for b in opened.values() if b.folder.root in self._roots]
        if len(given) > 1:
            wanted[" ".join(b.id for b in given)] = given
        for parts in wanted.values():
            with contextlib.suppress(WhichoneError):  # its runs are listed without a benchmark
                joined = Benchmark.open(parts)
                yield _served_benchmark(joined.folder, str(joined.folder.root))

    def _folders(self) -> list[tuple[Path, str]]:
        if self._roots:
            return [result for root in self._roots for result in folder_kinds(root)]
        from whichone.benchmarks.by_name import builtin_benchmark

        return [(Path(builtin_benchmark("builtin/amber")), BENCHMARK)]


def _builtin_benchmarks(runs: Sequence[Folder]) -> Iterator[ServedBenchmark]:
    """The built-in benchmarks that some run says it was made on: they lie below no folder."""
    from whichone import registry
    from whichone.benchmarks.by_name import builtin_benchmark

    named = {str(run.manifest.made.get("benchmark")) for run in runs}
    for name in sorted(named.intersection(registry.names("builtins"))):
        place = builtin_benchmark(name)
        yield _served_benchmark(Folder.open(place, BENCHMARK), str(place))


def _served_benchmark(folder: Folder, place: str) -> ServedBenchmark:
    key = folder.content_hash[:12]
    name = folder.manifest.name
    return ServedBenchmark(key=key, id=f"{name}-{key}", name=name, place=place, folder=folder)


def _put(served: ServedBenchmark, folder: Folder) -> None:
    """Two runs with the same rankings keep their own places."""
    key, number = folder.content_hash[:12], 1
    while key in served.runs:
        number += 1
        key = f"{folder.content_hash[:12]}-{number}"
    names = {run.name for run in served.runs.values()}
    own = folder.manifest.name or folder.root.name
    name = own if own not in names else f"{own} ({folder.root.name})"
    served.runs[key] = ServedRun(key=key, name=name, folder=folder)
