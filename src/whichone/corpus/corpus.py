"""A corpus on disk: passages, pages and the names that point at pages; mapped, never loaded."""

import contextlib
import functools
import os
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.page_names import FURTHER, CorpusNames, Named, names_of_page
from whichone.errors import Missing, WhichoneError
from whichone.files.folder import Folder
from whichone.files.lines import write_atomic
from whichone.files.mapped import BATCH, HashIndex, MappedTable, Rows, hashes, run_starts
from whichone.files.output import cache_folder
from whichone.files.tables import TableSchema, sort_rows
from whichone.records import Passage, page_of

KIND = "corpus"

_text = pa.string()

PASSAGES = TableSchema.of(
    "passages",
    ("page", "n"),
    ("id", _text),
    ("page", _text),
    ("n", pa.int32()),
    ("title", _text),
    ("text", _text),
    ("source_id", _text),  # what its own corpus calls it; systems may return that too
    ("entity", _text),  # whom it is about, where the source says so
    ("fields", _text),  # JSON, further fields of its source that a search may filter by
)
PAGES = TableSchema.of(
    "pages",
    ("page",),
    ("page", _text),
    ("title", _text),
    ("first", pa.int64()),  # the row of its first passage; they follow one another
    ("passages", pa.int32()),
)
NAMES = TableSchema.of(
    "names",
    ("key", "page", "kind", "name", "count"),
    ("key", _text),  # names.token_key(name)
    ("name", _text),
    ("page", pa.int64()),  # its row in pages
    ("kind", _text),  # title, document, before comma, redirect, anchor, alias, first sentence
    ("count", pa.int64()),  # anchors: how often; 1 for the others
)


_TEXTS = "passages.arrow"
RECORD = ("id", "page", "title", "text", "source_id", "entity")


class Corpus:
    """Passages in the order of page and number; a passage's row is its ordinal.

    Pages and names are tables of their own. Look-ups by id read hashes and the rows that they point at.
    """

    def __init__(
        self,
        passages: MappedTable | Callable[[], MappedTable],
        *,
        hash: str,
        name: str = "corpus",
        language: str = "",
        folder: Folder | None = None,
    ) -> None:
        # The hash is of its content: two folders with the same passages and names have the same.
        self._given, self.hash = passages, hash
        self.name = name
        self.language = language or "en"
        """Of its texts; English where nobody said another."""
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> Self:
        folder = Folder.open(path, KIND)
        said = folder.manifest.parameters.get("language")
        return cls(
            lambda: MappedTable.open(*folder.path_by_block(_TEXTS)),
            hash=folder.content_hash,
            name=folder.manifest.name or "corpus",
            language=said if isinstance(said, str) else "",
            folder=folder,
        )

    @classmethod
    def of_table(cls, table: pa.Table, *, hash: str) -> Self:
        """A corpus in memory, from a table of passages in their order."""
        return cls(MappedTable.of(with_all_columns(table)), hash=hash)

    @property
    def id(self) -> str:
        """Its name and the first 12 hex digits of its hash."""
        return f"{self.name}-{self.hash[:12]}"

    @functools.cached_property
    def _passages(self) -> MappedTable:
        """Opened when a passage is asked for: checking and scoring pages needs none."""
        return self._given() if callable(self._given) else self._given

    def __len__(self) -> int:
        rows = self.folder.manifest.files[_TEXTS].rows if self.folder is not None else None
        return len(self._passages) if rows is None else rows

    # passages

    @functools.cached_property
    def passages(self) -> pa.Table:
        """Columns id, page, n, title, text, source_id, entity, fields; mapped."""
        return self._passages.table()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        return self._passages.batches(columns)

    def passage_records(self) -> Iterator[Passage]:
        yield from (Passage(**row) for batch in self._passages.batches(RECORD) for row in batch.to_pylist())

    def take(self, rows: Rows | Sequence[int], columns: Sequence[str]) -> pa.Table:
        return self._passages.take(rows, columns)

    def ids(self, rows: Sequence[int]) -> list[str]:
        return self._passages.strings(rows, "id")

    def texts(self, rows: Sequence[int]) -> list[str]:
        return self._passages.strings(rows, "text")

    def value(self, row: int, column: str) -> Any:
        return self._passages.value(row, column)

    def row(self, passage: str) -> int | None:
        return self.rows([passage])[0]

    def rows(self, ids: Sequence[str]) -> list[int | None]:
        """The row of each passage id; None for what is no passage of this corpus."""
        places = self.page_rows([page_of(identity) for identity in ids])
        return [
            None if place is None else self._row_on_page(identity, place)
            for identity, place in zip(ids, places, strict=True)
        ]

    def _row_on_page(self, identity: str, place: int) -> int | None:
        rows = self.rows_of(place)
        _, mark, number = identity.rpartition("#")
        guess = rows.start + int(number) if mark and number.isdigit() and len(number) < 10 else -1
        if guess in rows and self._passages.string(guess, "id") == identity:
            return guess
        return next((r for r in rows if self._passages.string(r, "id") == identity), None)

    def __contains__(self, passage: str) -> bool:
        return self.row(passage) is not None

    def get(self, ids: Iterable[str]) -> dict[str, Passage]:
        """The passages with these ids, read together; unknown ids are left out."""
        wanted = list(dict.fromkeys(ids))
        known = [(i, r) for i, r in zip(wanted, self.rows(wanted), strict=True) if r is not None]
        records = self._passages.take([row for _, row in known], RECORD).to_pylist()
        return {record["id"]: Passage(**record) for record in records}

    def passage(self, identity: str) -> Passage:
        """One passage; a `KeyError` where there is none of this id."""
        return self.get([identity])[identity]

    def by_source_id(self, own: Sequence[str]) -> list[int | None]:
        """The row of each passage by what its own corpus calls it."""
        if self._sources is None:
            return [None] * len(own)
        return self._sources.matching(own, "source_id", self._passages)

    @property
    def has_source_ids(self) -> bool:
        return self._sources is not None

    # pages

    @functools.cached_property
    def page_table(self) -> MappedTable:
        """Columns page, title, first (the row of its first passage), passages (how many)."""
        if self.folder is not None:
            return MappedTable.open(*self.folder.path_by_block("pages.arrow"))
        return MappedTable.of(pa.concat_tables([PAGES.empty(), *page_rows(self._passages)]))

    @property
    def page_count(self) -> int:
        return len(self.page_table)

    def page_row(self, page: str) -> int | None:
        return self.page_rows([page])[0]

    def page_rows(self, pages: Sequence[str]) -> list[int | None]:
        """The row of each page id; None for what is no page of this corpus."""
        return self.page_index.matching(pages, "page", self.page_table)

    def rows_of(self, page: int) -> range:
        """The rows of a page's passages, by the page's row."""
        first = self.page_table.number(page, "first")
        return range(first, first + self.page_table.number(page, "passages"))

    @functools.cached_property
    def page_firsts(self) -> Rows:
        """The row of every page's first passage, in the order of the pages."""
        parts = [np.asarray(batch["first"]) for batch in self.page_table.batches(["first"])]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def pages_of_rows(self, rows: Rows) -> Rows:
        return np.searchsorted(self.page_firsts, rows, "right") - 1

    def page_ids(self, pages: Sequence[int]) -> list[str]:
        return self.page_table.strings(pages, "page")

    def passages_of(self, page: str) -> list[str]:
        """The ids of a page's passages in their order; none for a page that is not in the corpus."""
        place = self.page_row(page)
        return [] if place is None else self.ids(self.rows_of(place))

    def on_page(self, page: str) -> list[Passage]:
        """A page's passages in their order; none for a page that is not in the corpus."""
        place = self.page_row(page)
        rows = range(0) if place is None else self.rows_of(place)
        return [Passage(**row) for row in self._passages.slice(rows.start, len(rows), RECORD).to_pylist()]

    def texts_on(self, page: str) -> list[str]:
        """The texts of a page's passages, the shortest way."""
        place = self.page_row(page)
        return [] if place is None else self.texts(self.rows_of(place))

    def has(self, identity: str) -> bool:
        """Whether this is a passage or a page of the corpus."""
        return self.page_row(identity) is not None or identity in self

    def title(self, page: str) -> str:
        """A page's title; empty for one that is not in the corpus."""
        place = self.page_row(page)
        return "" if place is None else str(self.page_table.value(place, "title") or "")

    def titles(self) -> dict[str, str]:
        """Every page's title, in memory; for corpora that are known to be small."""
        table = self.page_table.table()
        return dict(zip(table["page"].to_pylist(), table["title"].to_pylist(), strict=True))

    # names

    @functools.cached_property
    def names(self) -> CorpusNames:
        if self.folder is not None:
            table = MappedTable.open(*self.folder.path_by_block("names.arrow"))
            return CorpusNames(table, HashIndex.open(self.folder.path, "name"))
        rows = [
            name.row(place)
            for place, page in enumerate(self.page_table.table().to_pylist())
            for name in names_of_page(
                page["title"] or "", self._passages.string(page["first"], "text"), self.language
            )
        ]
        return CorpusNames.of(MappedTable.of(sort_rows(NAMES.from_rows(rows), NAMES)))

    def pages_titled(self, title: str) -> list[str]:
        """The pages that have a passage of exactly this title, which names them or finds a document on them."""
        pages = {b.page for b in self.names.bearers(title) if b.kind in ("title", "document")}
        return self.page_ids(
            [
                page
                for page in sorted(pages)
                if self.page_table.value(page, "title") == title
                or title in self._passages.strings(self.rows_of(page), "title")
            ]
        )

    def further_names(self, pages: Container[str]) -> Iterator[tuple[str, Named]]:
        """Names of some pages that are not in their own titles and texts: redirects, anchors."""
        for batch in self.names.table.batches():
            for row in batch.filter(pc.is_in(batch["kind"], pa.array(FURTHER))).to_pylist():
                if (page := self.page_ids([row["page"]])[0]) in pages:
                    yield page, Named(row["name"], row["kind"], row["count"])

    # where things are

    @functools.cached_property
    def page_index(self) -> HashIndex:
        if self.folder is not None:
            return HashIndex.open(self.folder.path, "page")
        return HashIndex.of(hashes(self.page_table.table()["page"].to_pylist()))

    @functools.cached_property
    def _sources(self) -> HashIndex | None:
        if self.folder is not None:
            known = self.folder.has("source-hashes.npy")
            return HashIndex.open(self.folder.path, "source") if known else None
        column = self._passages.table()["source_id"]
        if column.null_count == len(column):
            return None
        return HashIndex.of(hashes(v or "" for v in column.to_pylist()))


def with_all_columns(table: pa.Table) -> pa.Table:
    """The columns that a table of passages does not have are empty."""
    for field in PASSAGES.schema:
        if field.name not in table.schema.names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(PASSAGES.schema.names).cast(PASSAGES.schema)


def page_rows(passages: MappedTable) -> Iterator[pa.Table]:
    """The pages of passages that come in the order of their page, by blocks."""
    firsts = run_starts(passages.table()["page"])
    counts = np.diff(firsts, append=len(passages))
    for start in range(0, len(firsts), BATCH):
        rows = firsts[start : start + BATCH]
        about = passages.take(rows, ["page", "title"]).append_column("first", pa.array(rows))
        yield about.append_column("passages", pa.array(counts[start : start + BATCH])).cast(PAGES.schema)


# Where corpora are on this machine, by their hash: a benchmark names its corpus, not a folder.


def remember(corpus: Corpus) -> None:
    """Keep in the cache where a corpus is, unless it is inside another folder's unfinished work."""
    if corpus.folder is None or ".partial" in corpus.folder.root.parts:
        return
    place = corpus.folder.root.resolve()
    with contextlib.suppress(
        OSError, WhichoneError
    ):  # a cache that cannot be written costs the convenience, nothing else
        note, known = _remembered(corpus.hash)
        if place not in known:
            note.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(note, b"".join(b"%s\n" % os.fsencode(p) for p in (place, *known[:9])))


def find_corpus(hash: str, *hints: Path) -> Corpus:
    """The corpus with this hash: where the hints say, or where one was made or opened before."""
    for place in (*hints, *_remembered(hash)[1]):
        try:
            corpus = Corpus.open(place)
        except (WhichoneError, OSError):
            continue
        if corpus.hash == hash:
            return corpus
    raise Missing(
        f"the corpus {hash[:12]} is not where it was",
        where=", ".join(str(hint) for hint in hints) or None,
        hint="whichone show CORPUS once, at its new place: it is found there from then on",
    )


def _remembered(hash: str) -> tuple[Path, list[Path]]:
    """The file in the cache, and the places in it."""
    note = cache_folder() / "corpora" / f"{hash[:32]}.txt"
    lines = note.read_text("utf-8").splitlines() if note.exists() else []
    return note, [Path(line) for line in lines if line]


# Ids in exported files: TREC columns are separated by blanks, so blanks in ids are percent-encoded, in every format alike.


_SAFE = "".join(chr(c) for c in range(33, 127) if chr(c) != "%")


def to_trec(identity: str) -> str:
    """An id without blanks; letters beyond ASCII stay as they are."""
    return "".join(c if c in _SAFE or (ord(c) > 160 and not c.isspace()) else quote(c) for c in identity)


def trec_order(score: float, identity: str) -> tuple[float, list[int]]:
    """Sorts as trec_eval does: by score in single precision, equal ones by id, the last of the alphabet first.

    trec_eval reads scores into a C float and compares ids byte by byte; it does not look at ranks.
    """
    return -struct.unpack("f", struct.pack("f", score))[0], [-b - 1 for b in identity.encode()] + [0]


def from_trec(text: str) -> str:
    """The id that `to_trec` would write so; other people's ids with a percent sign stay as they are."""
    decoded = unquote(text)
    return decoded if to_trec(decoded) == text else text
