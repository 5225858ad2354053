"""The corpus as `namesake` sees it: pages by number, their passages, what they say and are."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.retrieval.namesake.relations import RelationTable, Stems, lists_bearers, stems

Ints = npt.NDArray[np.int64]


class Pages:
    """Pages are numbered in the order of the corpus; a page's passages follow one another."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.kinds = functools.lru_cache(100_000)(self._kinds)
        self.stems = functools.lru_cache(20_000)(self._stems)

    def __len__(self) -> int:
        return self._corpus.page_count

    def id(self, page: int) -> str:
        return self._corpus.page_ids([page])[0]

    def passage_ids(self, rows: Sequence[int]) -> list[str]:
        return self._corpus.ids(rows)

    def of_passages(self, rows: Sequence[int] | Ints) -> Ints:
        """The page of each passage, by row."""
        return self._corpus.pages_of_rows(np.asarray(rows, np.int64))

    def passages(self, page: int) -> Ints:
        rows = self._corpus.rows_of(page)
        return np.arange(rows.start, rows.stop)

    def rows(self, pages: Sequence[int]) -> Ints:
        """The passages of several pages, in order of the corpus."""
        if not pages:
            return np.zeros(0, np.int64)
        return np.sort(np.concatenate([self.passages(page) for page in pages]))

    def title(self, page: int) -> str:
        return self._corpus.page_table.strings([page], "title")[0]

    def texts(self, page: int) -> list[str]:
        return self._corpus.texts(self._corpus.rows_of(page))

    def _kinds(self, page: int) -> frozenset[str]:
        first = self._corpus.texts([self._corpus.rows_of(page).start])[0]
        return RelationTable.load().kinds_of(self.title(page), first)

    def lists_bearers(self, page: int) -> bool:
        texts = self.texts(page)
        return all(lists_bearers(self.title(page), text) for text in texts)

    def _stems(self, page: int) -> Stems:
        return stems(" ".join([self.title(page), *self.texts(page)]))
