"""Names that point at pages, in the order of their keys, found by hash in mapped files."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from whichone.files.folder import Folder
from whichone.files.mapped import Hashes, HashIndex, MappedTable, Rows, hashes, run_starts
from whichone.files.tables import DEFAULT_MEMORY, connect, tables_sql
from whichone.names import name_key, token_key, without_parentheses
from whichone.text.language import base_code, split_sentences

if TYPE_CHECKING:
    from whichone.knowledge.engines import Engine


# The names that a page's first sentence gives its subject: its opening words and what it is called.


_END = re.compile(r"(?<=[a-z0-9\)\"”])[.!?](?=\s+[A-Z\"“]|\s*$)")
_OPENING = re.compile(
    r"^\W*(?P<name>.+?)\s*(?:[,(–—]|\s(?:is|was|are|were|refers?|may refer)\b)", re.UNICODE
)
_OPENINGS = {
    "de": r"ist|war|sind|waren|bezeichnet|steht\s+für",
    "es": r"es|fue|era|son|eran|fueron|puede\s+referirse",
    "fr": r"est|était|fut|sont|étaient|désigne",
}
"""What follows a page's subject in other languages."""
_CALLED = re.compile(
    r"\b(?:(?:better|best|also|commonly|professionally|simply|popularly|formerly|often|sometimes|mononymously)\s+)*"
    r"(?:known|called|credited|billed|nicknamed|styled|written)(?:\s+\w+ly)?\s+(?:as\s+|simply\s+)?"
    r"(?P<name>(?:[\"“'‘][^\"”’]{2,60}[\"”’])|(?:the\s+)?[A-Z][\w.’'-]*(?:\s+(?:[A-Z][\w.’'-]*|of|the|de|van|von|and|al|bin|ibn|la|le))*)"
)
_BORN = re.compile(
    r"\bborn\s+(?:as\s+)?(?P<name>[A-Z][\w.’'-]*(?:\s+(?:[A-Z][\w.’'-]*|de|van|von|of|la|le))+)"
)
_QUOTED = re.compile(r"\s*[\"“]([^\"”]{2,40})[\"”]\s*")
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
LONGEST = 8


def first_sentence(text: str, language: str = "en") -> str:
    """Up to the first full stop that ends a sentence; at most 600 characters are looked at."""
    start = text[:600]
    if base_code(language) != "en":
        return next(iter(split_sentences(start, language)), start)
    end = _END.search(start)
    return start[: end.start() + 1] if end else start


def names_in_first_sentence(title: str, text: str, language: str = "en") -> Iterator[str]:
    """Names besides the title: the sentence's subject, and, in English, names after "known as" or "born".

    The opening words count only where they share a word with the title: "The 1989 season was" names
    nobody.
    """
    sentence, code = first_sentence(text, language), base_code(language)
    opening = _opening(code).match(sentence)
    if opening is not None:
        yield from _subject(opening["name"], title)
    for pattern in (_CALLED, _BORN) if code == "en" else ():
        for match in pattern.finditer(sentence):
            name = match["name"].strip("\"“”'‘’ .,")
            if _is_name(name):
                yield name


@functools.cache
def _opening(code: str) -> re.Pattern[str]:
    if code == "en":
        return _OPENING
    verbs = rf"|\s(?:{_OPENINGS[code]})\b" if code in _OPENINGS else ""
    return re.compile(rf"^\W*(?P<name>.+?)\s*(?:[,(–—]{verbs})")


def _subject(opening: str, title: str) -> Iterator[str]:
    name = opening.strip(" \"“”'‘’")
    words = set(name_key(name).split())
    if not _is_name(name) or not words & set(name_key(title).split()):
        return
    yield name
    quoted = _QUOTED.search(name)
    if quoted is not None:  # William "Bill" Evans is William Evans and Bill Evans
        before, after = name[: quoted.start()].strip(), name[quoted.end() :].strip()
        if before and after:
            yield f"{before} {after}"
            yield f"{quoted[1]} {after.split()[-1]}"


def _is_name(text: str) -> bool:
    words = text.split()
    if not words or len(words) > LONGEST or len(text) < 2:
        return False
    first = words[1] if words[0].lower() == "the" and len(words) > 1 else words[0]
    return (first[0].isupper() or first[0].isdigit()) and words[0].lower() not in _MONTHS


# Names that point at pages, in the order of their keys, found by hash in mapped files.


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


# Names that pages of a knowledge base have beside their titles: redirects and the texts of links.


_BATCH = 65_536
KNOWLEDGE_NAMES_LONGEST = 80
"""Texts of links longer than so many characters are phrases, not names."""


def names_of_pages(
    kb: Folder, memory: str = DEFAULT_MEMORY, engine: Engine | None = None
) -> Iterator[tuple[str, Named]]:
    """Page and name for every redirect, and every text of links with how often it leads there.

    An engine with workers counts them there.
    """
    if engine is not None and engine.shared:
        yield from _names(kb, engine.query)
        return
    with connect(memory) as connection:
        yield from _names(kb, lambda query: connection.sql(query).to_arrow_reader(_BATCH))


def _names(kb: Folder, run: Callable[[str], Iterable[Any]]) -> Iterator[tuple[str, Named]]:
    if kb.has("redirects.parquet"):
        query = f"""select target_page, title from {_files(kb, "redirects")}
            where target_page is not null"""
        for page, title in _rows(run(query)):
            yield page, Named(title.replace("_", " "), "redirect")
    if kb.has("links.parquet"):
        query = f"""select target_page, trim(text) as name, count(*) as times
            from {_files(kb, "links")} where target_page is not null
            and length(trim(text)) between 1 and {KNOWLEDGE_NAMES_LONGEST} group by 1, 2"""
        for page, text, count in _rows(run(query)):
            yield page, Named(text, "anchor", int(count))


def _files(kb: Folder, table: str) -> str:
    return tables_sql(file.resolve() for file in kb.parts(table))


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
