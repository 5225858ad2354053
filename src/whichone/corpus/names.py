"""Names that point at pages, in the order of their keys, found by hash in mapped files."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from whichone.corpus.first_sentence import names_in_first_sentence
from whichone.files.mapped import Hashes, HashIndex, MappedTable, Rows, hashes, run_starts
from whichone.names import name_key, token_key, without_parentheses

Kind = Literal["title", "before comma", "redirect", "anchor", "alias", "first sentence"]
"""Where a name comes from; "before comma" is the Raymond of "Raymond, Maine"."""
FURTHER = ("redirect", "anchor", "alias")
"""Names that come from elsewhere than the page's own title and text."""


class Named(msgspec.Struct, frozen=True):
    """A name as it is written, where it comes from, and how often it is used so."""

    name: str
    kind: Kind = "title"
    count: int = 1

    def row(self, page: int) -> dict[str, Any]:
        return {
            "key": token_key(self.name),
            "name": self.name,
            "page": page,
            "kind": self.kind,
            "count": self.count,
        }


class Bearing(msgspec.Struct, frozen=True):
    """A page, by its row, that a name points at."""

    page: int
    name: str
    kind: str
    count: int


def names_of_page(title: str, text: str, language: str = "en") -> Iterator[Named]:
    """What a page's own title and first sentence call it."""
    plain = html.unescape(title).replace("_", " ").strip()
    bare = without_parentheses(plain)
    if bare:
        yield Named(bare)
    if plain and name_key(plain) != name_key(bare):
        yield Named(plain)
    before, comma, _ = bare.partition(", ")
    if comma and before:
        yield Named(before, "before comma")
    known = {name_key(bare), name_key(plain), ""}
    for name in names_in_first_sentence(bare, text, language):
        if name_key(name) not in known:
            known.add(name_key(name))
            yield Named(name, "first sentence")


class CorpusNames:
    """All names of a corpus."""

    def __init__(self, table: MappedTable, index: HashIndex) -> None:
        self.table = table
        self._index = index

    @classmethod
    def of(cls, table: MappedTable) -> CorpusNames:
        """Names in memory."""
        parts = list(key_hashes(table)) or [(np.zeros(0, np.uint64), np.zeros(0, np.int64))]
        index = HashIndex.of(np.concatenate([hashes for hashes, _ in parts]))
        return cls(table, index.pointing_at(np.concatenate([rows for _, rows in parts])))

    def __len__(self) -> int:
        return len(self.table)

    def bearers(self, name: str) -> list[Bearing]:
        """The pages that a name points at; of one page every kind of name once."""
        key = token_key(name)
        return self.look_up([key]).get(key, [])

    def look_up(self, keys: Sequence[str]) -> dict[str, list[Bearing]]:
        """The same for many `token_key`s at once; those that name nothing are left out."""
        wanted = list(dict.fromkeys(keys))
        if not wanted or not len(self.table):
            return {}
        first, last = self._index.bounds(wanted)
        bearers = {}
        for key, start, end in zip(wanted, first.tolist(), last.tolist(), strict=True):
            rows = (self._index.row(place) for place in range(start, end))
            row = next((r for r in rows if self.table.string(r, "key") == key), None)
            if row is not None:
                bearers[key] = list(self._run(key, row))
        return bearers

    def _run(self, key: str, row: int) -> Iterator[Bearing]:
        while row < len(self.table) and self.table.string(row, "key") == key:
            yield Bearing(
                page=self.table.number(row, "page"),
                name=self.table.string(row, "name"),
                kind=self.table.string(row, "kind"),
                count=self.table.number(row, "count"),
            )
            row += 1


def key_hashes(table: MappedTable) -> Iterator[tuple[Hashes, Rows]]:
    """The hash of each key once, with the row where it begins; the table is in the order of its keys."""
    row, last = 0, None
    for batch in table.batches(["key"]):
        column = batch["key"]
        starts = run_starts(column)
        if len(starts) and column[0].as_py() == last:
            starts = starts[1:]
        if len(column):
            last = column[len(column) - 1].as_py()
        yield hashes(column.take(pa.array(starts)).to_pylist()), starts + row
        row += len(column)
