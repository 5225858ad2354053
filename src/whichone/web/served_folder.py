"""The benchmarks and runs that the pages show: found once on disk, named by their content.

A request names a benchmark or a run by a few hex digits that are looked up here; no text of a
request ever becomes a path.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.tables import KIND as BENCHMARK
from whichone.errors import WhichoneError
from whichone.files.cache import cache_folder
from whichone.files.folder import Folder, folder_kinds
from whichone.runs.answers import KIND as ANSWERS
from whichone.runs.run import KIND as RUN
from whichone.web.explorer.indexes import Indexes

_FRESH = 10.0
"""Seconds before the folder is looked through again."""


@dataclass(frozen=True)
class Shelved:
    """A run on the shelf of its benchmark."""

    key: str
    name: str
    folder: Folder


@dataclass(frozen=True)
class Shelf:
    """One benchmark with its runs."""

    key: str
    id: str
    name: str
    place: str
    folder: Folder
    runs: dict[str, Shelved] = field(default_factory=dict)
    answers: list[Folder] = field(default_factory=list)

    def benchmark(self) -> Benchmark:
        """Opened afresh, so that its tables leave memory with whoever asked for them."""
        return Benchmark(self.folder)

    def tasks(self) -> frozenset[str]:
        """The tasks of its queries."""
        return _tasks(self.folder.path("queries.parquet"), self.key)

    def questions(self) -> frozenset[tuple[str, str]]:
        """The id and the words of every query."""
        import pyarrow.parquet as pq

        table = pq.read_table(self.folder.path("queries.parquet"), columns=["id", "input"])
        return frozenset(zip(table["id"].to_pylist(), table["input"].to_pylist(), strict=True))


@functools.lru_cache(256)
def _tasks(queries: Path, key: str) -> frozenset[str]:
    """`key` is the content's, so that a folder that was made again is read again."""
    import pyarrow.parquet as pq

    return frozenset(pq.read_table(queries, columns=["task"])["task"].unique().to_pylist())


class Holdings:
    """Everything below one folder, or the built-in benchmark when there is none."""

    def __init__(self, root: Path | None, *, cache: Path | None = None) -> None:
        self.root = root
        self.indexes = Indexes((cache or cache_folder()) / "web")
        self._lock = threading.Lock()
        self._shelves: dict[str, Shelf] = {}
        self.strays: list[str] = []
        """Runs whose benchmark is not below the folder, and folders that could not be opened."""
        self._looked = 0.0

    def shelves(self) -> dict[str, Shelf]:
        with self._lock:
            if time.monotonic() - self._looked > _FRESH or not self._looked:
                self._look()
            return self._shelves

    def look_again(self) -> None:
        with self._lock:
            self._looked = 0.0

    def shelf(self, key: str) -> Shelf | None:
        return self.shelves().get(key)

    def benchmark_index(self, shelf: Shelf) -> Path:
        return self.indexes.of_benchmark(shelf.folder)

    def run_index(self, shelf: Shelf, run: Shelved) -> Path:
        return self.indexes.of_run(run.folder, shelf.folder)

    def _look(self) -> None:
        shelves: dict[str, Shelf] = {}
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
                shelf = _shelf(folder, str(place))
                shelves.setdefault(shelf.key, shelf)
        for shelf in _builtin_shelves(runs):
            shelves.setdefault(shelf.key, shelf)
        by_id = {shelf.id: shelf for shelf in shelves.values()}
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
        self._shelves, self.strays, self._looked = shelves, strays, time.monotonic()

    def _folders(self) -> list[tuple[Path, str]]:
        if self.root is not None:
            return list(folder_kinds(self.root))
        from whichone.benchmarks.builtin import builtin_benchmark

        return [(Path(builtin_benchmark("builtin/amber")), BENCHMARK)]


def _builtin_shelves(runs: Sequence[Folder]) -> Iterator[Shelf]:
    """The built-in benchmarks that some run says it was made on: they lie below no folder."""
    from whichone.benchmarks.builtin import BUILTIN, builtin_benchmark

    for name in sorted({str(run.manifest.made.get("benchmark")) for run in runs} & set(BUILTIN)):
        place = builtin_benchmark(name)
        yield _shelf(Folder.open(place, BENCHMARK), str(place))


def _shelf(folder: Folder, place: str) -> Shelf:
    key = folder.content_hash[:12]
    name = folder.manifest.name
    return Shelf(key=key, id=f"{name}-{key}", name=name, place=place, folder=folder)


def _put(shelf: Shelf, folder: Folder) -> None:
    """Two runs with the same rankings keep their own places."""
    key, number = folder.content_hash[:12], 1
    while key in shelf.runs:
        number += 1
        key = f"{folder.content_hash[:12]}-{number}"
    names = {run.name for run in shelf.runs.values()}
    own = folder.manifest.name or folder.root.name
    name = own if own not in names else f"{own} ({folder.root.name})"
    shelf.runs[key] = Shelved(key=key, name=name, folder=folder)
