"""The passages that annotators have before them now, so that a click does not go to the corpus."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from whichone.errors import BadInput
from whichone.web.served_folder import ServedBenchmark, ServedFolder
from whichone.web.table_reader import TableReader

_MOST = 5000

Text = tuple[str, str]
"""Title and text."""


class PassageCache:
    """A bounded number of passages, those used last."""

    def __init__(self, folder: ServedFolder, tables: TableReader) -> None:
        self._folder, self._tables = folder, tables
        self._held: OrderedDict[tuple[str, str], Text] = OrderedDict()
        self._lock = threading.Lock()

    def texts(self, benchmark: str, ids: Sequence[str]) -> dict[str, Text]:
        """Title and text of passages of a benchmark, by its id."""
        with self._lock:
            texts = {i: self._held[benchmark, i] for i in ids if (benchmark, i) in self._held}
            for i in texts:
                self._held.move_to_end((benchmark, i))
        missing = [i for i in ids if i not in texts]
        if missing:
            corpus = benchmark_named(self._folder, benchmark).corpus
            read = self._tables.passages(corpus, missing)
            with self._lock:
                for identity, text in read.items():
                    self._held[benchmark, identity] = text
                while len(self._held) > _MOST:
                    self._held.popitem(last=False)
            texts |= read
        return texts


def benchmark_named(folder: ServedFolder, benchmark: str) -> ServedBenchmark:
    """The benchmark with this id, or the sentence that says it is gone."""
    for served in folder.benchmarks().values():
        if served.id == benchmark:
            return served
    raise BadInput(f"the benchmark {benchmark} is not here any more")
