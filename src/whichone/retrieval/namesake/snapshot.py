"""A snapshot of an index: its base, the parts added to it, and what was removed, seen as one."""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.corpus import given
from whichone.corpus.corpus import PASSAGES, RECORD, Corpus
from whichone.corpus.given import GivenNames, Thing
from whichone.corpus.page_names import Bearing
from whichone.files.manifest import MANIFEST
from whichone.files.tables import sort_rows
from whichone.names import token_key, without_parentheses
from whichone.records import Passage
from whichone.retrieval.bm25 import Bm25, Bm25Parameters
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.indexes import adopt_folder, created, opened
from whichone.retrieval.namesake import lexical as namesake_lexical
from whichone.retrieval.namesake.knowledge_evidence import RelationTable, Stems
from whichone.retrieval.namesake.lexical import (
    FieldIndex,
    Filter,
    Keys,
    Lexical,
    MappedLexical,
    MemoryLexical,
    PartLexical,
    RowSelection,
    filtered,
)
from whichone.retrieval.namesake.sentences import SentenceTable, sentence_files
from whichone.retrieval.namesake.spelling import FILES as VARIANTS
from whichone.retrieval.namesake.spelling import NameVariants

# The corpora of an index as `namesake` sees them: pages by number, their passages, what they say and are.


Ints = npt.NDArray[np.int64]

# What a list of people of one name consists of.
_ITEM = re.compile(r"\s;\s|\n")
_ITEM_HEAD, _LONGEST_ITEM, _ITEMS, _MOSTLY = 60, 150, 4, 0.7


class Pages:
    """Pages and rows are numbered through all corpora; a page's passages follow one another."""

    def __init__(self, corpus: Corpus, *further: Corpus, language: str | None = None) -> None:
        self.language = corpus.language if language is None else language
        self.table = RelationTable.load(self.language)
        self._corpora = (corpus, *further)
        # the number of each corpus' first page and first row
        *self.page_starts, self._count = itertools.accumulate(
            (c.page_count for c in self._corpora), initial=0
        )
        *self.row_starts, rows = itertools.accumulate((len(c) for c in self._corpora), initial=0)
        firsts = [c.page_firsts + start for c, start in zip(self._corpora, self.row_starts, strict=True)]
        self._firsts = np.append(np.concatenate(firsts), rows)
        self.kinds = functools.lru_cache(100_000)(self._kinds)
        self.lists_bearers = functools.lru_cache(100_000)(self._lists_bearers)
        self.stems = functools.lru_cache(20_000)(self._stems)
        self.title, self.opening = map(functools.lru_cache(2_000), (self._title, self._opening))

    def __len__(self) -> int:
        return self._count

    def place(self, page: int) -> tuple[int, int]:
        """The number of a page's corpus, and the page's own in it."""
        number = bisect.bisect_right(self.page_starts, page) - 1
        return number, page - self.page_starts[number]

    def _row(self, row: int) -> tuple[Corpus, int]:
        number = bisect.bisect_right(self.row_starts, row) - 1
        return self._corpora[number], row - self.row_starts[number]

    def id(self, page: int) -> str:
        number, own = self.place(page)
        return self._corpora[number].page_ids([own])[0]

    def passage_ids(self, rows: Sequence[int]) -> list[str]:
        if len(self._corpora) == 1:
            return self._corpora[0].ids(rows)
        return [corpus.ids([own])[0] for corpus, own in map(self._row, rows)]

    def passage(self, row: int) -> tuple[Passage, str | None]:
        """A passage, and its further fields as JSON."""
        corpus, own = self._row(row)
        record = {column: corpus.value(own, column) for column in RECORD}
        return Passage(**record), corpus.value(own, "fields")

    def of_passages(self, rows: Sequence[int] | Ints) -> Ints:
        """The page of each passage, by row."""
        return np.searchsorted(self._firsts, np.asarray(rows, np.int64), "right") - 1

    def rows(self, pages: Sequence[int]) -> Ints:
        """The passages of pages, in order of the corpus."""
        if not len(pages):
            return np.zeros(0, np.int64)
        wanted = np.sort(np.asarray(pages, np.int64))
        first = self._firsts[wanted]
        count = self._firsts[wanted + 1] - first
        ends = np.cumsum(count)
        return np.arange(ends[-1]) + np.repeat(first - ends + count, count)

    def _title(self, page: int) -> str:
        number, own = self.place(page)
        return self._corpora[number].page_table.string(own, "title")

    def texts(self, page: int) -> list[str]:
        number, own = self.place(page)
        return self._corpora[number].texts(self._corpora[number].rows_of(own))

    def _opening(self, page: int) -> str:
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
        title = self.title(page)
        if self._lists_names(title, page):
            return frozenset(["name"])
        return self.table.kinds_of(title, self.opening(page))

    def _lists_names(self, title: str, page: int) -> bool:
        """Whether a page is a list of people: "Liz Bonnin (born 1976), presenter; Liz Phair, singer"."""
        items = _ITEM.split(self.opening(page))
        own = set(token_key(without_parentheses(title)).split())
        short = (item for item in items if len(item) < _LONGEST_ITEM)
        having = sum(own <= set(token_key(item[:_ITEM_HEAD]).split()) for item in short)
        return len(items) >= _ITEMS and having >= _MOSTLY * len(items)

    def _lists_bearers(self, page: int) -> bool:
        title = self.title(page)
        if not self.table.lists_bearers(title, self.opening(page)):
            return False
        return all(self.table.lists_bearers(title, text) for text in self.texts(page))

    def _stems(self, page: int) -> Stems:
        return self.table.language.stems(" ".join([self.title(page), *self.texts(page)]))


# One part of an index: a corpus with its postings, given names and fields, on disk or in memory.


NAME = "namesake"


@dataclass(frozen=True)
class Part:
    """Some passages of an index."""

    corpus: Corpus
    lexical: PartLexical
    given: GivenNames | None
    fields: FieldIndex
    sentences: SentenceTable | None = None
    variants: Sequence[NameVariants] = ()
    folder: Path | None = None

    @classmethod
    def open(cls, folder: Path, mean: float | None = None) -> Part:
        """Map what `build` wrote; an index of an earlier version has neither names nor fields."""
        place, corpus, _ = opened(folder, NAME)
        lexical = MappedLexical(Bm25.open(place.root / "bm25"), mean)
        names = GivenNames.open(place.path) if place.has(given.FILES[0]) else None
        known = FieldIndex.open(place.path) if place.has(namesake_lexical.FILES[0]) else FieldIndex.of(corpus)
        sentences = SentenceTable.open(place.path) if sentence_files(place) else None
        # opened now: a writer may delete the folder of a part that it has merged
        _ = (corpus.page_table, corpus.names, corpus.page_firsts, corpus.has_source_ids)
        corpus.page_rows([""])
        variants = [NameVariants.open(place.path, corpus.names)] if place.has(VARIANTS[0]) else []
        if names is not None:
            variants.append(NameVariants.of(names.names))
        return cls(corpus, lexical, names, known, sentences, variants, place.root)

    @classmethod
    def of(
        cls,
        rows: Sequence[Mapping[str, Any]],
        names: Iterable[Thing],
        terms: Sequence[Keys],
        parameters: Bm25Parameters,
        mean: float,
    ) -> Part:
        """A few passages in memory; `terms` belong to the rows."""
        places = {id(row): n for n, row in enumerate(rows)}
        order = [places[id(row)] for row in in_order(rows)]
        table = pa.Table.from_pylist([dict(rows[n]) for n in order], PASSAGES.schema)
        digest = hashlib.sha256("\0".join(str(rows[n]["id"]) for n in order).encode()).hexdigest()
        corpus = Corpus.of_table(sort_rows(table, PASSAGES), hash=digest)
        given_names = GivenNames.of(corpus, names, strict=False)
        return cls(
            corpus,
            MemoryLexical([terms[n] for n in order], parameters, mean),
            given_names,
            FieldIndex.of(corpus),
            variants=[NameVariants.of(corpus.names), NameVariants.of(given_names.names)],
        )


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows as a part in memory has them."""
    return sorted(rows, key=lambda row: (row["page"], row["n"]))


def build_part(
    corpus: Corpus | Iterable[Any],
    folder: Path,
    options: Mapping[str, Any],
    names: Iterable[Thing] = (),
    encoder: Any = None,
    *,
    strict: bool = True,
) -> None:
    """Write a part, complete in its folder; an interrupted one goes on."""
    with created(Path(folder), NAME, corpus, options, resume=True) as (place, held):
        if not (place.partial / "bm25" / MANIFEST).exists():
            Bm25.build(held, place.partial / "bm25")
        if not (place.partial / namesake_lexical.FILES[2]).exists():
            FieldIndex.write(held, place.partial)
        if not (place.partial / VARIANTS[3]).exists():
            NameVariants.write(held.names, place.partial)
        written = [*namesake_lexical.FILES, *VARIANTS]
        if listed := list(names):
            GivenNames.of(held, listed, strict=strict).save(place.partial)
            written += given.FILES
        if encoder is not None:
            written += SentenceTable.write(held, encoder, place.partial)
        for name in written:
            place.adopt(name)
        adopt_folder(place, "bm25")


# A snapshot of an index: its base, the parts added to it, and what was removed, seen as one.


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
        self._variants = [v for part in self.parts for v in part.variants]
        self.pages = Pages(*(part.corpus for part in parts), language=language)
        self.lexical = Lexical([part.lexical for part in parts], parameters)
        gone = removed or [np.zeros(0, np.int64) for _ in parts]
        self.removed = np.concatenate([r + s for r, s in zip(gone, self.pages.row_starts, strict=True)])
        self.whole = RowSelection(self.removed)
        self.attributes = functools.lru_cache(2_000)(self._attributes)

    def __len__(self) -> int:
        return len(self.lexical) - len(self.removed)

    def select(self, wanted: Filter | None) -> RowSelection:
        """What a filter lets through; everything that was not removed without one."""
        if not wanted:
            return self.whole
        rows = filtered(wanted, [part.fields for part in self.parts], self.pages.row_starts)
        return RowSelection(self.removed, rows)

    def kept_pages(self, pages: Sequence[int], selection: RowSelection) -> list[int]:
        """Those pages of which a passage is selected."""
        if selection.everything:
            return list(pages)
        rows = self.pages.rows(pages)
        still = set(self.pages.of_passages(rows[selection.keeps(rows)]).tolist())
        return [page for page in pages if page in still]

    def look_up(self, keys: Sequence[str]) -> dict[str, list[Bearing]]:
        """The pages that names point at, over all parts; `keys` are `token_key`s."""
        results: dict[str, list[Bearing]] = {}
        for part, start in zip(self.parts, self.pages.page_starts, strict=True):
            for names in (part.corpus.names, part.given.names if part.given else None):
                if names is None:
                    continue
                for key, bearings in names.look_up(keys).items():
                    results[key] = results.get(key, []) + [_moved(bearing, start) for bearing in bearings]
        return results

    def by_short_key(self, key: str, most: int) -> list[str]:
        """The keys of names that a short form may stand for, over all parts."""
        return list(dict.fromkeys(name for v in self._variants for name in v.by_short_key(key, most)))[:most]

    def words_like(self, word: str, most: int = 8) -> list[str]:
        """Words of names that may have been meant by a word, over all parts."""
        return list(dict.fromkeys(like for v in self._variants for like in v.words_like(word, most)))[:most]

    def _attributes(self, page: int) -> Mapping[str, str]:
        """What is known of the thing a page is about: what was given, and its passage's fields."""
        number, own = self.pages.place(page)
        part = self.parts[number]
        known = dict(part.given.attributes(own)) if part.given is not None else {}
        raw = self.pages.first_value(page, "fields")
        for name, value in (msgspec.json.decode(raw) if raw else {}).items():
            if isinstance(value, str | int | float | bool):
                known.setdefault(name, str(value))
        return known

    def sentence_vectors(self, page: int) -> Vectors | None:
        number, own = self.pages.place(page)
        table = self.parts[number].sentences
        return None if table is None else table.vectors(own)

    def rows_of(self, identity: str) -> Iterator[int]:
        """The rows of a passage by its own id or its id here, or of all passages of a page."""
        for part, start in zip(self.parts, self.pages.row_starts, strict=True):
            corpus = part.corpus
            page = corpus.page_row(identity)
            rows = set() if page is None else set(corpus.rows_of(page))
            rows |= {r for r in (corpus.row(identity), *corpus.by_source_id([identity])) if r is not None}
            yield from (row + start for row in sorted(rows))

    def rows_of_entity(self, entity: str) -> Iterator[int]:
        for part, start in zip(self.parts, self.pages.row_starts, strict=True):
            yield from (part.fields.rows("entity", [entity]) + start).tolist()


def _moved(bearing: Bearing, start: int) -> Bearing:
    if not start:
        return bearing
    return Bearing(bearing.page + start, bearing.name, bearing.kind, bearing.count)
