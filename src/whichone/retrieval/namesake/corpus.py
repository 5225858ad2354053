"""The corpus as `namesake` sees it: pages by number, their passages, what they say and are."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.retrieval.namesake.relations import RelationTable, Stems, lists_bearers, stems

Ints = npt.NDArray[np.int64]


class Pages:
    """Pages are numbered in the order of the corpus; a page's passages lie together."""

    def __init__(self, benchmark: Benchmark) -> None:
        table = benchmark.passages
        encoded = pc.dictionary_encode(table["page"].combine_chunks())
        self.ids: list[str] = encoded.dictionary.to_pylist()
        self.of_passage: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        self.numbers = {page: n for n, page in enumerate(self.ids)}
        self._order = np.argsort(self.of_passage, kind="stable")
        self._bounds = np.searchsorted(
            self.of_passage[self._order], np.arange(len(self.ids) + 1)
        ).tolist()
        self._titles = table["title"]
        self._texts = table["text"]
        self.passage_ids: list[str] = table["id"].to_pylist()
        self.kinds = functools.lru_cache(100_000)(self._kinds)
        self.stems = functools.lru_cache(20_000)(self._stems)

    def __len__(self) -> int:
        return len(self.ids)

    def passages(self, page: int) -> Ints:
        return self._order[self._bounds[page] : self._bounds[page + 1]]

    def rows(self, pages: Sequence[int]) -> Ints:
        """The passages of several pages, in order of the corpus."""
        if not pages:
            return np.zeros(0, np.int64)
        return np.sort(np.concatenate([self.passages(page) for page in pages]))

    def title(self, page: int) -> str:
        return str(self._titles[int(self.passages(page)[0])].as_py())

    def texts(self, page: int) -> list[str]:
        return [str(self._texts[int(row)].as_py()) for row in self.passages(page)]

    def _kinds(self, page: int) -> frozenset[str]:
        first = str(self._texts[int(self.passages(page)[0])].as_py())
        return RelationTable.load().kinds_of(self.title(page), first)

    def lists_bearers(self, page: int) -> bool:
        texts = self.texts(page)
        return all(lists_bearers(self.title(page), text) for text in texts)

    def _stems(self, page: int) -> Stems:
        return stems(" ".join([self.title(page), *self.texts(page)]))
