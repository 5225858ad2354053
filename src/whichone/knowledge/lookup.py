"""Looking things up in a knowledge base: entities, pages, bearers of a name, names as one types.

Everything is answered from `lookup.sqlite`, which is made when it is first asked for and made again
when the tables have changed.
"""

import contextlib
import re
import sqlite3
import time
import weakref
from functools import lru_cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
import numpy as np

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.manifest import is_whole
from whichone.files.tables import sql_name
from whichone.knowledge import lookup_build
from whichone.knowledge.formats.wiki_site import clean_title, site_for
from whichone.knowledge.knowledge_tables import KIND
from whichone.names import name_key
from whichone.progress import talk
from whichone.records import Record, page_id

_HOST = re.compile(r"([a-z-]+)(?:\.m)?\.wikipedia\.org$")


class Address(msgspec.Struct, frozen=True):
    """`wiki` as in page ids ("enwiki"), None where the host does not say; `number` wins over `title`."""

    title: str
    number: str | None = None
    wiki: str | None = None


def read_address(text: str) -> Address:
    """The title is percent-decoded, with blanks for underscores; empty where none is asked for."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise BadInput(f"not a web address: {text}") from error
    host = _HOST.search(parts.hostname or "")
    wiki = f"{host[1]}wiki".replace("-", "_") if host and host[1] != "www" else None
    asked = parse_qs(parts.query)
    if "title" in asked:
        written = asked["title"][0]
    else:
        written = unquote(parts.path.partition("/wiki/")[2] or parts.path.rpartition("/")[2])
    number = asked["curid"][0] if "curid" in asked else None
    return Address(written.replace("_", " ").strip(), number, wiki)


_FEW = 2000  # so many names of a prefix are compared before the most popular are looked for
_TIERS = (100_000, 300_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 32_000_000)
_PATIENCE = 0.004  # seconds that a search may be expected to take
_RAREST = 3


class KnownPage(Record, frozen=True):
    page: str
    title: str
    entity: str | None = None
    kind: str = "article"


class KnownEntity(Record, frozen=True):
    entity: str
    label: str | None = None
    description: str | None = None
    types: tuple[str, ...] = ()
    title: str | None = None
    popularity: float | None = None


class NameBearer(Record, frozen=True):
    """An entity that has a name: by what (label, alias, title, redirect, anchor), and how often
    a link with that text means it."""

    about: KnownEntity
    kinds: tuple[str, ...] = ()
    links: int = 0


class Suggestion(Record, frozen=True):
    name: str
    key: str
    bearers: int


class Suggestions(Record, frozen=True):
    """Names that fit, the most popular first; `complete` is False when searching was cut short."""

    names: tuple[Suggestion, ...] = ()
    complete: bool = True


class Lookup(contextlib.AbstractContextManager["Lookup"]):
    """Read-only; may be shared between threads."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        weakref.finalize(self, database.close)  # Python 3.13 warns of connections left open

    @classmethod
    def open(cls, base: str | Path | Folder) -> Self:
        """The lookup of a knowledge base, made first where it is missing or out of date."""
        folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
        path = folder.root / lookup_build.LOOKUP
        if not _fits(path, lookup_build.lookup_name(folder)):
            talk(f"making {lookup_build.LOOKUP} for {folder.root}")
            lookup_build.build_lookup(folder)
        return cls(_connect(path))

    def close(self) -> None:
        self._database.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.execute(query, values).fetchall()

    # entities and pages

    def entity(self, entity: str) -> KnownEntity | None:
        query = "select entity, label, description, types, title, popularity from entities where entity = ?"
        for row in self.rows(query, entity):
            return _entity(row)
        page = self.page(entity)  # a page represents an entity that is not known
        return KnownEntity(entity=entity, label=page.title, title=page.title) if page else None

    def page(self, page: str) -> KnownPage | None:
        return self._page("page = ?", page)

    def page_of_title(self, title: str, wiki: str | None = None) -> KnownPage | None:
        """A page by its title, or by a title that redirects to it."""
        cleaned = clean_title(title, site_for(wiki or "enwiki", "en"))
        for form in dict.fromkeys((title, cleaned)):
            if page := self._page("title = ?", form, wiki):
                return page
        for form in dict.fromkeys((title, cleaned)):
            moved = self.rows("select page from redirects where title = ?", form)
            if moved and moved[0][0]:
                return self._page("page = ?", moved[0][0], wiki)
        return None

    def page_of_url(self, url: str) -> KnownPage | None:
        """A page by a Wikipedia address: its title is percent-decoded, redirects are followed."""
        asked = read_address(url)
        if asked.number is not None:
            return self.page(page_id(asked.wiki or "enwiki", asked.number))
        return self.page_of_title(asked.title, asked.wiki) if asked.title else None

    def pages_of(self, entity: str) -> list[KnownPage]:
        own = [_page(row) for row in self.rows(f"select {_PAGE} from pages where entity = ?", entity)]
        alone = self.page(entity)
        return own or ([alone] if alone else [])

    def _page(self, where: str, value: str, wiki: str | None = None) -> KnownPage | None:
        rows = self.rows(f"select {_PAGE} from pages where {where} order by page", value)
        return next((_page(row) for row in rows if wiki is None or row[0].partition(":")[0] == wiki), None)

    # names

    def bearers(self, name: str) -> list[NameBearer]:
        """Who has a name, the most popular first."""
        ids = self.rows("select id from names where key = ?", name_key(name))
        return self.bearers_of_number(ids[0][0]) if ids else []

    def bearers_of_number(self, number: int) -> list[NameBearer]:
        query = """select b.entity, e.label, e.description, e.types, e.title, e.popularity,
                b.kinds, b.count, p.title
            from bearers b left join entities e on e.entity = b.entity
            left join pages p on p.page = b.entity
            where b.name = ? order by e.popularity desc, b.count desc, b.entity"""
        return [
            NameBearer(
                about=_entity((entity, label or page, description, types, title or page, popularity)),
                kinds=_kinds(kinds),
                links=links,
            )
            for entity, label, description, types, title, popularity, kinds, links, page in self.rows(
                query, number
            )
        ]

    def names_of(self, entity: str) -> list[tuple[str, tuple[str, ...], int]]:
        query = """select n.name, b.kinds, b.count from bearers b join names n on n.id = b.name
            where b.entity = ? order by b.count desc, n.id"""
        return [(name, _kinds(kinds), count) for name, kinds, count in self.rows(query, entity)]

    def search(self, text: str, limit: int = 10) -> Suggestions:
        """Names that begin with a text, then names that contain it (from three letters on)."""
        if not (key := name_key(text)):
            return Suggestions()
        begun = self.search_prefix(key, limit)
        if len(begun.names) >= limit or len(key) < 3:
            return begun
        held = self.search_substring(key, limit)
        names = dict.fromkeys((*begun.names, *held.names))
        return Suggestions(names=tuple(names)[:limit], complete=begun.complete and held.complete)

    def search_prefix(self, text: str, limit: int = 10) -> Suggestions:
        """Names that begin with a text. Few are sorted by popularity; of many the top are found in
        order of popularity among the names with the same first letters."""
        key = name_key(text)
        bounds = (key, key + "\U0010ffff")
        ids = self.rows(f"select id from names where key >= ? and key < ? limit {_FEW + 1}", *bounds)
        if len(ids) <= _FEW:
            return self._suggestions(sorted(n for (n,) in ids)[:limit])
        size = min(len(key), 3)
        query = f"""select id from names indexed by names_by_{size}
            where substr(key, 1, {size}) = ? and key >= ? and key < ? order by id limit ?"""
        return self._suggestions([n for (n,) in self.rows(query, key[:size], *bounds, limit)])

    def search_substring(self, text: str, limit: int = 10) -> Suggestions:
        """Names that contain a text of three letters or more, among more and more of them."""
        key = name_key(text)
        if len(key) < 3:
            return self.search_prefix(text, limit)
        if (rare := self._rarest_trigrams(key)) is None:
            return Suggestions()
        query = """select t.rowid from names_trigrams t join names n on n.id = t.rowid
            where names_trigrams match ? and t.rowid > ? and t.rowid <= ? and instr(n.key, ?)
            order by t.rowid limit ?"""
        ids: list[int] = []
        began, low = time.perf_counter(), 0
        for high in (*_TIERS, 1 << 62):
            ids += [n for (n,) in self.rows(query, rare, low, high, key, limit - len(ids))]
            if len(ids) >= limit or not self.rows("select 1 from names where id > ? limit 1", high):
                break
            took, low = time.perf_counter() - began, high
            if took * 3 > _PATIENCE:  # the next tier is about twice as large as all before it
                return self._suggestions(ids, complete=False)
        return self._suggestions(ids)

    def _rarest_trigrams(self, key: str) -> str | None:
        """A query for the rarest trigrams of a text; None when no name contains one of them.

        The common ones would cost more to go through than they rule out.
        """
        trigrams = {key[n : n + 3] for n in range(len(key) - 2)}
        marks = ", ".join("?" * len(trigrams))
        known = self.rows(f"select names, trigram from trigrams where trigram in ({marks})", *trigrams)
        if len(known) < len(trigrams):
            return None
        return " AND ".join(sql_name(trigram) for _, trigram in sorted(known)[:_RAREST])

    def _suggestions(self, ids: list[int], complete: bool = True) -> Suggestions:
        marks = ", ".join("?" * len(ids))
        query = f"select name, key, bearers from names where id in ({marks}) order by id"
        suggestions = self.rows(query, *ids)
        return Suggestions(
            names=tuple(Suggestion(name=n, key=k, bearers=b) for n, k, b in suggestions), complete=complete
        )


_PAGE = "page, title, entity, kind"


def _page(row: tuple[Any, ...]) -> KnownPage:
    page, title, entity, kind = row
    return KnownPage(page=page, title=title, entity=entity, kind=kind)


def _entity(row: tuple[Any, ...]) -> KnownEntity:
    entity, label, description, types, title, popularity = row
    return KnownEntity(
        entity=entity,
        label=label,
        description=description,
        types=tuple(msgspec.json.decode(types) or ()) if types else (),
        title=title,
        popularity=popularity,
    )


def _kinds(bits: int) -> tuple[str, ...]:
    return tuple(kind for n, kind in enumerate(lookup_build.NAME_KINDS) if bits >> n & 1)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def _fits(path: Path, name: str) -> bool:
    if not path.exists() or not is_whole(path):
        return False
    with contextlib.closing(_connect(path)) as database, contextlib.suppress(sqlite3.DatabaseError):
        return database.execute("select value from about where what = 'made of'").fetchone() == (name,)
    return False


class FoundName(Record, frozen=True):
    """A name in a text; `number` is what its bearers are asked for by."""

    text: str
    start: int
    end: int
    number: int


class NameIndex(contextlib.AbstractContextManager["NameIndex"]):
    """Finds the names of a knowledge base in a text: the longest first, case folded, accents kept.

    The beginnings of all names are two sorted arrays on disk, which are mapped into memory and never
    read whole; who has a name comes from `lookup.sqlite`.
    """

    def __init__(self, lookup: Lookup, hashes: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> None:
        self.lookup, self._hashes, self._numbers = lookup, hashes, numbers
        self._bearers = lru_cache(16_384)(lookup.bearers_of_number)

    @classmethod
    def open(cls, base: str | Path | Folder) -> Self:
        """The name index of a knowledge base, made first where it is missing or out of date."""
        folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
        lookup = Lookup.open(folder)
        files = (folder.root / lookup_build.NAME_HASHES, folder.root / lookup_build.NAME_NUMBERS)
        if not all(file.exists() and is_whole(file) for file in files):
            lookup.close()
            lookup_build.build_lookup(folder)
            lookup = Lookup.open(folder)
        hashes, numbers = (np.load(file, mmap_mode="r") for file in files)
        return cls(lookup, hashes, numbers)

    def close(self) -> None:
        self.lookup.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def bearers(self, mention: FoundName) -> list[NameBearer]:
        """Who a mention may mean, the most popular first."""
        return self._bearers(mention.number)

    def find(self, text: str, *, overlapping: bool = False, lower_case: bool = False) -> list[FoundName]:
        """The names in a text, in order of where they begin.

        Of overlapping names the longest counts, of equally long ones the first; all of them with
        `overlapping`. A single word in lower case counts only with `lower_case`, or when the whole
        text is in lower case, as typed questions are: most names of one word are also words.
        """
        low, places = lookup_build.folded(text)
        mentions = self._spans(lookup_build.Pieces(low), text, places)
        if not lower_case and text != low:
            mentions = [m for m in mentions if not (m.text.islower() and m.text.isalpha())]
        return mentions if overlapping else _longest(mentions)

    def _spans(self, pieces: lookup_build.Pieces, text: str, places: Any) -> list[FoundName]:
        mentions: list[FoundName] = []
        starts = np.arange(len(pieces))
        hashes = lookup_build.begin(pieces.bare)
        for length in range(1, lookup_build.LONGEST_NAME + 1):
            numbers, known = self._numbers_of(hashes)
            for start, number in zip(starts[numbers > 0], numbers[numbers > 0], strict=True):
                a, b = pieces.spans[start][0], pieces.spans[start + length - 1][1]
                a, b = (a, b) if places is None else (places[a], _end(places, b))
                mentions.append(FoundName(text=text[a:b], start=a, end=b, number=int(number)))
            going = known & (starts + length < len(pieces))
            starts = starts[going]
            if not len(starts):
                break
            hashes = lookup_build.extend(hashes[going], pieces.following[starts + length])
        return sorted(mentions, key=lambda m: (m.start, m.end))

    def _numbers_of(self, hashes: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """For each hash the number of the name (0: none), and whether some name begins so."""
        if not len(self._hashes):
            return np.zeros(len(hashes), np.uint32), np.zeros(len(hashes), bool)
        at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        known = self._hashes[at] == hashes
        return np.where(known, self._numbers[at], 0), known


def _end(places: Any, end: int) -> int:
    """Where a folded stretch ends in the text: where the next character begins."""
    last = places[end - 1]
    while places[end] == last:
        end += 1
    return int(places[end])


def _longest(mentions: list[FoundName]) -> list[FoundName]:
    taken: list[FoundName] = []
    covered = bytearray(max((m.end for m in mentions), default=0))
    for mention in sorted(mentions, key=lambda m: (m.start - m.end, m.start)):
        if covered.find(1, mention.start, mention.end) < 0:
            covered[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            taken.append(mention)
    return sorted(taken, key=lambda m: m.start)
