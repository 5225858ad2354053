"""A snapshot of an index: its base, the parts added to it, and what was removed, seen as one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.page_names import Bearing
from whichone.retrieval.bm25 import Bm25Parameters
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.namesake.corpus import Pages
from whichone.retrieval.namesake.fields import Filter, filtered
from whichone.retrieval.namesake.lexical import Lexical
from whichone.retrieval.namesake.part import Part
from whichone.retrieval.namesake.selection import Selection

Rows = npt.NDArray[np.int64]


class Index:
    """Parts, and the rows of each that no longer count."""

    def __init__(
        self,
        parts: Sequence[Part],
        parameters: Bm25Parameters,
        removed: Sequence[Rows] | None = None,
        language: str | None = None,
    ) -> None:
        self.parts = tuple(parts)
        self.pages = Pages(*(part.corpus for part in parts), language=language)
        self.lexical = Lexical([part.lexical for part in parts], parameters)
        gone = removed or [np.zeros(0, np.int64) for _ in parts]
        starts = self.pages.row_starts
        self.removed = np.concatenate([r + s for r, s in zip(gone, starts, strict=True)])
        self.whole = Selection(self.removed)

    def __len__(self) -> int:
        return len(self.lexical) - len(self.removed)

    @property
    def has_given_names(self) -> bool:
        return any(part.given is not None and len(part.given) for part in self.parts)

    def select(self, wanted: Filter | None) -> Selection:
        """What a filter lets through; everything that was not removed without one."""
        if not wanted:
            return self.whole
        rows = filtered(wanted, [part.fields for part in self.parts], self.pages.row_starts)
        return Selection(self.removed, rows)

    def kept_pages(self, pages: Sequence[int], selection: Selection) -> list[int]:
        """Those pages of which a passage is selected."""
        if selection.everything:
            return list(pages)
        rows = self.pages.rows(pages)
        kept = self.pages.of_passages(rows[selection.keeps(rows)])
        still = set(kept.tolist())
        return [page for page in pages if page in still]

    def look_up(self, keys: Sequence[str]) -> dict[str, list[Bearing]]:
        """The pages that names point at, over all parts; `keys` are `token_key`s."""
        results: dict[str, list[Bearing]] = {}
        for part, start in zip(self.parts, self.pages.page_starts, strict=True):
            for names in (part.corpus.names, part.given.names if part.given else None):
                if names is None:
                    continue
                for key, bearings in names.look_up(keys).items():
                    moved = [_moved(bearing, start) for bearing in bearings]
                    results[key] = results.get(key, []) + moved
        return results

    def by_short_key(self, key: str, most: int) -> list[str]:
        """The keys of names that a short form may stand for, over all parts."""
        results = [
            name for part in self.parts for v in part.variants for name in v.by_short_key(key, most)
        ]
        return list(dict.fromkeys(results))[:most]

    def words_like(self, word: str, most: int = 8) -> list[str]:
        """Words of names that may have been meant by a word, over all parts."""
        results = [
            like for part in self.parts for v in part.variants for like in v.words_like(word, most)
        ]
        return list(dict.fromkeys(results))[:most]

    def attributes(self, page: int) -> dict[str, str]:
        """What is known of the thing a page is about: what was given, and its passage's fields."""
        number, own = self._place(page)
        part = self.parts[number]
        known = dict(part.given.attributes(own)) if part.given is not None else {}
        raw = self.pages.first_value(page, "fields")
        for name, value in (msgspec.json.decode(raw) if raw else {}).items():
            if isinstance(value, str | int | float | bool):
                known.setdefault(name, str(value))
        return known

    def sentence_vectors(self, page: int) -> Vectors | None:
        number, own = self._place(page)
        table = self.parts[number].sentences
        return None if table is None else table.vectors(own)

    @functools.cached_property
    def _page_starts(self) -> Rows:
        return np.array(self.pages.page_starts, np.int64)

    def _place(self, page: int) -> tuple[int, int]:
        number = int(np.searchsorted(self._page_starts, page, "right")) - 1
        return number, page - int(self._page_starts[number])

    def rows_of(self, identity: str) -> Iterator[int]:
        """The rows of a passage by its own id or its id here, or of all passages of a page."""
        for part, start in zip(self.parts, self.pages.row_starts, strict=True):
            corpus = part.corpus
            page = corpus.page_row(identity)
            rows = set() if page is None else set(corpus.rows_of(page))
            rows |= {
                r for r in (corpus.row(identity), *corpus.by_source_id([identity])) if r is not None
            }
            yield from (row + start for row in sorted(rows))

    def rows_of_entity(self, entity: str) -> Iterator[int]:
        for part, start in zip(self.parts, self.pages.row_starts, strict=True):
            yield from (part.fields.rows("entity", [entity]) + start).tolist()


def _moved(bearing: Bearing, start: int) -> Bearing:
    if not start:
        return bearing
    return Bearing(bearing.page + start, bearing.name, bearing.kind, bearing.count)
