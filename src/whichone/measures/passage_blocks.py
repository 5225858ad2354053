"""Texts for measures that read them: fetched from the corpus for many queries at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from whichone.corpus.corpus import Corpus
from whichone.records import Passage, Query

BLOCK = 500
"""Queries whose passages are in memory together."""


class PassageBlocks:
    """Looks passages up while queries are gone through; a page id is its first passage."""

    def __init__(self, corpus: Corpus, ranked: Mapping[str, Sequence[str]]) -> None:
        self._corpus = corpus
        self._ranked = ranked
        self._known: dict[str, Passage] = {}

    def going_through(self, queries: Sequence[Query]) -> Iterator[Query]:
        """The queries themselves, the passages of each known while it is the current one."""
        remaining = iter(queries)
        while block := list(islice(remaining, BLOCK)):
            wanted = dict.fromkeys(i for q in block for i in self._ranked.get(q.id, ()))
            self._known = self._fetch(list(wanted))
            yield from block

    def __call__(self, identity: str) -> Passage:
        found = self._known.get(identity)
        return found if found is not None else self._fetch([identity])[identity]

    def _fetch(self, ids: list[str]) -> dict[str, Passage]:
        found = self._corpus.get(ids)
        pages = [identity for identity in ids if identity not in found]
        rows = [row for row in self._corpus.page_rows(pages) if row is not None]
        firsts = self._corpus.ids([self._corpus.rows_of(row).start for row in rows])
        by_id = self._corpus.get(firsts)
        return {**found, **{by_id[first].page: by_id[first] for first in firsts}}
