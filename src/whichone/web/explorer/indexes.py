"""Who makes the indexes: small ones whoever asks first, large ones one thread in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.progress import talk
from whichone.web.explorer.benchmark_index import build_benchmark_index
from whichone.web.explorer.benchmark_index import index_path as benchmark_path
from whichone.web.explorer.run_index import build_run_index
from whichone.web.explorer.run_index import index_path as run_path

SMALL = 200_000
"""Rows that are indexed in a second or two, while the page waits."""


class NotReady(Exception):
    """What was asked for is being indexed; come again in a while."""


class Indexes:
    """The indexes in one cache folder; each is made once, whoever asks how often."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self._lock = threading.Lock()
        self._building: dict[Path, threading.Lock] = {}
        self._later: dict[Path, Future[None]] = {}
        self._worker = ThreadPoolExecutor(1, "indexer")

    def of_benchmark(self, folder: Folder) -> Path:
        path = benchmark_path(folder, self.cache)
        return self._made(
            path, _rows(folder, "sets", "queries"), folder.manifest.name,
            lambda: build_benchmark_index(path, folder),
        )  # fmt: skip

    def of_run(self, run: Folder, benchmark: Folder) -> Path:
        index = self.of_benchmark(benchmark)
        path = run_path(run, index, self.cache)
        return self._made(
            path, _rows(run, "rankings"), run.manifest.name,
            lambda: build_run_index(path, run, index),
        )  # fmt: skip

    def _made(self, path: Path, rows: int, name: str, build: Callable[[], None]) -> Path:
        if path.exists():
            return path
        with self._lock:
            lock = self._building.setdefault(path, threading.Lock())
        with lock:
            if path.exists():
                return path
            if rows <= SMALL:
                build()
                return path
            later = self._later.get(path)
            if later is None:
                self._later[path] = self._worker.submit(build)
            elif later.done():
                del self._later[path]
                if error := later.exception():  # asked again, it is tried again
                    talk(f"{name} could not be indexed: {error!r}")
                    raise BadInput(f"{name} could not be indexed: {error}") from error
                return path
        raise NotReady(f"{name} is being indexed ({rows:,} rows), once; the page comes by itself")

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)


def _rows(folder: Folder, *tables: str) -> int:
    return sum(map(folder.rows, tables))
