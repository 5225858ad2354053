"""The corpora of an index as `namesake` sees them: pages by number, their passages, what they say and are."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import RECORD, Corpus
from whichone.records import Passage
from whichone.retrieval.namesake.relations import RelationTable, Stems

Ints = npt.NDArray[np.int64]


class Pages:
    """Pages and rows are numbered through all corpora; a page's passages follow one another."""

    def __init__(self, corpus: Corpus, *further: Corpus, language: str | None = None) -> None:
        self.language = corpus.language if language is None else language
        self.table = RelationTable.load(self.language)
        self._corpora = (corpus, *further)
        self._page_starts = _starts([c.page_count for c in self._corpora])
        self._row_starts = _starts([len(c) for c in self._corpora])
        pairs = zip(self._corpora, self._row_starts, strict=False)
        firsts = [c.page_firsts + start for c, start in pairs]
        self._firsts = np.append(np.concatenate(firsts), self._row_starts[-1])
        self.kinds = functools.lru_cache(100_000)(self._kinds)
        self.stems = functools.lru_cache(20_000)(self._stems)

    def __len__(self) -> int:
        return self._page_starts[-1]

    @property
    def corpora(self) -> tuple[Corpus, ...]:
        return self._corpora

    @property
    def page_starts(self) -> list[int]:
        """The number of each corpus' first page."""
        return self._page_starts[:-1]

    @property
    def row_starts(self) -> list[int]:
        return self._row_starts[:-1]

    def _page(self, page: int) -> tuple[Corpus, int]:
        number = bisect.bisect_right(self._page_starts, page) - 1
        return self._corpora[number], page - self._page_starts[number]

    def _row(self, row: int) -> tuple[Corpus, int]:
        number = bisect.bisect_right(self._row_starts, row) - 1
        return self._corpora[number], row - self._row_starts[number]

    def id(self, page: int) -> str:
        corpus, own = self._page(page)
        return corpus.page_ids([own])[0]

    def passage_ids(self, rows: Sequence[int]) -> list[str]:
        return [corpus.ids([own])[0] for corpus, own in map(self._row, rows)]

    def passage(self, row: int) -> tuple[Passage, str | None]:
        """A passage, and its further fields as JSON."""
        corpus, own = self._row(row)
        record = {column: corpus.value(own, column) for column in RECORD}
        return Passage(**record), corpus.value(own, "fields")

    def of_passages(self, rows: Sequence[int] | Ints) -> Ints:
        """The page of each passage, by row."""
        return np.searchsorted(self._firsts, np.asarray(rows, np.int64), "right") - 1

    def passages(self, page: int) -> Ints:
        return np.arange(self._firsts[page], self._firsts[page + 1])

    def rows(self, pages: Sequence[int]) -> Ints:
        """The passages of several pages, in order of the corpus."""
        if not len(pages):
            return np.zeros(0, np.int64)
        wanted = np.sort(np.asarray(pages, np.int64))
        first = self._firsts[wanted]
        count = self._firsts[wanted + 1] - first
        ends = np.cumsum(count)
        rows: Ints = np.arange(ends[-1]) + np.repeat(first - ends + count, count)
        return rows

    def title(self, page: int) -> str:
        corpus, own = self._page(page)
        return corpus.page_table.strings([own], "title")[0]

    def first_row(self, page: int) -> int:
        return int(self._firsts[page])

    def texts(self, page: int) -> list[str]:
        corpus, own = self._page(page)
        return corpus.texts(corpus.rows_of(own))

    def opening(self, page: int) -> str:
        """The text of a page's first passage."""
        corpus, own = self._row(int(self._firsts[page]))
        return corpus.texts([own])[0]

    def entity(self, page: int) -> str | None:
        """Whom a page's first passage is about, where its source says so."""
        value = self.first_value(page, "entity")
        return None if value is None else str(value)

    def first_value(self, page: int, column: str) -> Any:
        corpus, own = self._row(int(self._firsts[page]))
        return corpus.value(own, column)

    def _kinds(self, page: int) -> frozenset[str]:
        return self.table.kinds_of(self.title(page), self.opening(page))

    def lists_bearers(self, page: int) -> bool:
        title = self.title(page)
        return all(self.table.lists_bearers(title, text) for text in self.texts(page))

    def _stems(self, page: int) -> Stems:
        return self.table.language.stems(" ".join([self.title(page), *self.texts(page)]))


def _starts(sizes: Sequence[int]) -> list[int]:
    return [*itertools.accumulate(sizes, initial=0)]
