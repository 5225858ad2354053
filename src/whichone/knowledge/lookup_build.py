"""Deriving `lookup.sqlite` and the name index from the tables of a knowledge base.

Both can be deleted and made again at will. Names are numbered by how popular their most popular
bearer is, so that whatever is found first is what most people mean.

Texts and names are cut into the same pieces, so that the names in a text can be found piece by piece.
Case is folded and compatibility forms are unified as in `names.name_key`; accents and punctuation
stay. A piece is a word, a sign, or one character of a script that writes no blanks (Chinese,
Japanese, Thai, …), and knows whether a blank comes before it. A name is found only where pieces
begin and end: "Ann" is not in "Anna", "Lincoln" is in "Lincoln's".
"""

import contextlib
import hashlib
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import regex

from whichone.errors import BadInput
from whichone.files.arrow_records import blocks
from whichone.files.folder import Folder
from whichone.files.manifest import forget_sums, write_sums
from whichone.files.output import written_beside
from whichone.files.tables import connect, tables_sql
from whichone.options import DEFAULT_MEMORY
from whichone.progress import progress

_NO_BLANKS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_PIECE = regex.compile(
    rf"(?V1)[{_NO_BLANKS}]\p{{M}}*|[[\p{{L}}\p{{N}}\p{{M}}]--[{_NO_BLANKS}]]+|[^\s\x1c-\x1f]"
)
_CLUSTER = regex.compile(r"\X")
Hashes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"

_STEP = np.uint64(0x9E3779B97F4A7C15)
_START = np.uint64(0x243F6A8885A308D3)


def folded(text: str) -> tuple[str, Sequence[int] | None]:
    """A text with its case folded, and for each character where it stood (None: where it is)."""
    if text.isascii():
        return text.replace("_", " ").lower(), None
    if unicodedata.is_normalized("NFKC", text):
        low = text.casefold()  # never fewer characters: as many means each stayed in its place
        if len(low) == len(text) and unicodedata.is_normalized("NFKC", low):
            return low.replace("_", " "), None
    pieces: list[str] = []
    places: list[int] = []
    for match in _CLUSTER.finditer(text):
        new = _fold(match.group())
        pieces.append(new)
        places += [match.start()] * len(new)
    places.append(len(text))
    return "".join(pieces), places


@lru_cache(65_536)
def _fold(cluster: str) -> str:
    again = unicodedata.normalize("NFKC", cluster).casefold()
    return unicodedata.normalize("NFKC", again).replace("_", " ")


class Pieces:
    """The pieces of a folded text: where they appear, and their hashes.

    `bare` takes a piece as the beginning of a name, `following` as going on after what is before.
    """

    def __init__(self, text: str) -> None:
        self.spans = [match.span() for match in _PIECE.finditer(text)]
        words = [text[start:end] for start, end in self.spans]
        blank = [b[0] > a[1] for a, b in zip(self.spans, self.spans[1:], strict=False)]
        self.bare = _array([_hash(word) for word in words])
        later = [_hash(" " + word if gap else word) for word, gap in zip(words[1:], blank, strict=True)]
        self.following = _array([0, *later] if words else [])

    def __len__(self) -> int:
        return len(self.spans)


def begin(bare: Hashes) -> Hashes:
    """The hashes of names of one piece."""
    return _mixed(bare ^ _START)


def extend(hashes: Hashes, following: Hashes) -> Hashes:
    """The hashes of names that go on by one piece."""
    return _mixed(hashes ^ following)


def name_steps(key: str) -> list[int]:
    """The hashes of a name's pieces: the first as a beginning, the others as following."""
    steps, last = [], -1
    for match in _PIECE.finditer(key):
        word = match.group()
        steps.append(_hash(" " + word if 0 <= last < match.start() else word))
        last = match.end()
    return steps


def _mixed(hashes: Hashes) -> Hashes:
    mixed = hashes * _STEP
    return mixed ^ (mixed >> np.uint64(29))


def _array(values: Sequence[int]) -> Hashes:
    return np.array(values, dtype=np.uint64)


@lru_cache(262_144)
def _hash(piece: str) -> int:
    data = piece.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


LOOKUP, NAME_HASHES, NAME_NUMBERS = "lookup.sqlite", "lookup.hashes.npy", "lookup.numbers.npy"
LONGEST_NAME = 16  # pieces; longer names are looked up, but not found in texts
_BATCH = 65_536
_FORMAT = "4"
NAME_KINDS = ("label", "alias", "title", "redirect", "anchor")  # a bit each in `bearers.kinds`

_SCHEMA = """
create table about (what text primary key, value text) without rowid;
create table entities (
    entity text primary key, label text, description text, types text, title text, popularity real
) without rowid;
create table pages (page text primary key, title text, entity text, kind text) without rowid;
create table redirects (title text primary key, target text, page text) without rowid;
create table names (id integer primary key, key text, name text, bearers integer);
create table bearers (
    name integer, entity text, kinds integer, count integer, primary key (name, entity)
) without rowid;
create table trigrams (trigram text primary key, names integer) without rowid;
create virtual table names_trigrams using fts5(
    key, content='names', content_rowid='id', tokenize='trigram case_sensitive 1', detail='none'
);
"""
_INDEXES = """
create index names_by_key on names (key, id);
create index names_by_1 on names (substr(key, 1, 1), id);
create index names_by_2 on names (substr(key, 1, 2), id);
create index names_by_3 on names (substr(key, 1, 3), id);
create index bearers_by_entity on bearers (entity, name);
create index pages_by_title on pages (title);
create index pages_by_entity on pages (entity);
create index redirects_by_page on redirects (page);
insert into names_trigrams (names_trigrams) values ('rebuild');
insert into names_trigrams (names_trigrams) values ('optimize');
create virtual table temp.vocabulary using fts5vocab(main, names_trigrams, row);
insert into trigrams select term, doc from temp.vocabulary;
drop table temp.vocabulary;
analyze;
"""


def lookup_name(folder: Folder) -> str:
    """What a lookup must carry to be that of this knowledge base as it is now."""
    return f"{_FORMAT}:{folder.content_hash}"


def build_lookup(folder: Folder, *, memory: str = DEFAULT_MEMORY) -> Path:
    """Write the lookup of a knowledge base beside its tables, whole or not at all."""
    path = folder.root / LOOKUP
    files = [path, folder.root / NAME_HASHES, folder.root / NAME_NUMBERS]
    try:
        for file in files:
            forget_sums(file)
        with (
            written_beside(path) as beside,
            contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as database,
        ):
            _fill(folder, database, memory)
        for file in files:
            write_sums(file)
    except (sqlite3.Error, OSError) as error:
        raise BadInput(
            f"{LOOKUP} cannot be made: {error}",
            file=folder.root,
            hint="the folder must be writable and have room for about 400 bytes a name",
        ) from error
    return path


def _fill(folder: Folder, database: sqlite3.Connection, memory: str) -> None:
    database.executescript(
        f"pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -200000;{_SCHEMA}"
    )
    database.execute("begin")
    with connect(memory, folder.root) as engine, progress("indexing names", 6, "steps") as step:
        if (measure := popularity_measure(folder)) == "views":
            amount = f"""select coalesce(p.entity, p.page) as entity, sum(v.views) as popularity
                from {_table(folder, "views")} v join {_table(folder, "pages")} p using (title)
                where p.kind = 'article' group by all
                union all
                select e.entity, sum(v.views) from {_table(folder, "views")} v
                join {_table(folder, "entities")} e using (title)
                anti join {_table(folder, "pages")} p on p.entity = e.entity and p.title = e.title
                group by all"""  # a catalogue's views are of its entities, whose documents have titles of their own
        elif measure == "sitelinks":
            amount = f"select entity, sitelinks as popularity from {_table(folder, 'entities')}"
        else:
            amount = f"""select coalesce(p.entity, p.page) as entity, count(*) as popularity
                from {_table(folder, "links")} l join {_table(folder, "pages")} p
                on p.page = l.target_page group by all"""
        engine.execute(f"""create temp table popularity as
            select entity, max(popularity)::double as popularity from ({amount}) group by entity""")
        for table, query in _queries(folder).items():
            _copy(engine, database, table, query)
            step(1)
        database.execute("commit")
        database.executescript(_INDEXES)
        step(1)
    # Two sorted arrays: the hashes of all beginnings of names, and the number of the name, or 0.
    rows = database.execute("select id, key from names order by id")
    nothing = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
    pairs = [nothing, *(pair for batch in blocks(rows, _BATCH) for pair in _beginnings(batch))]
    every, named = map(np.concatenate, zip(*pairs, strict=True))
    # Of equal hashes the name comes first, then its mere beginning.
    order = np.lexsort((-named, every))
    every, named = every[order], named[order]
    first = np.ones(len(every), dtype=bool)
    first[1:] = every[1:] != every[:-1]
    for name, array in ((NAME_HASHES, every[first]), (NAME_NUMBERS, named[first].astype(np.uint32))):
        with written_beside(folder.root / name) as beside, beside.open("wb") as file:
            np.save(file, array)
    database.execute("insert into about values ('made of', ?)", (lookup_name(folder),))


def _table(folder: Folder, name: str) -> str:
    return tables_sql(folder.parts(name))


def popularity_measure(folder: Folder) -> str:
    """Views where there are any, else sitelinks, else links."""
    counts = folder.manifest.counts
    return "views" if counts.get("views") else "sitelinks" if counts.get("entities") else "links"


def _queries(folder: Folder) -> dict[str, str]:
    entities, pages, names = (_table(folder, name) for name in ("entities", "pages", "names"))
    codes = " ".join(f"when '{kind}' then {1 << n}" for n, kind in enumerate(NAME_KINDS))
    kinds = f"case kind {codes} else 0 end"
    keyed = f"""
        select n.key, arg_min(n.name, (n.kind = 'anchor', -n.count, n.name)) as name,
               count(distinct n.entity) as bearers, max(coalesce(p.popularity, 0)) as popularity
        from {names} n left join popularity p using (entity) where n.key <> '' group by n.key
    """
    return {
        "entities": f"""select entity, label, description, to_json(types) as types, title, popularity
            from {entities} left join popularity using (entity) order by entity""",
        "pages": f"select page, title, entity, kind from {pages} order by page",
        "redirects": f"""select title, target, target_page from {_table(folder, "redirects")}
            order by title""",
        "names": f"""create temp table numbered as select
            row_number() over (order by popularity desc, key) as id, key, name, bearers
            from ({keyed}); select id, key, name, bearers from numbered order by id""",
        "bearers": f"""select id, entity, bit_or({kinds})::int,
            sum(case when kind = 'anchor' then count else 0 end)::bigint
            from {names} join numbered using (key) group by id, entity order by id, entity""",
    }


def _copy(engine: Any, database: sqlite3.Connection, table: str, query: str) -> None:
    *before, last = query.split(";")
    for statement in before:
        engine.execute(statement)
    for batch in engine.sql(last).to_arrow_reader(_BATCH):
        columns = [column.to_pylist() for column in batch.columns]
        marks = ", ".join("?" * len(columns))
        database.executemany(f"insert or ignore into {table} values ({marks})", zip(*columns, strict=True))


def _beginnings(rows: list[tuple[int, str]]) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Hashes of the beginnings of many names at once, length by length."""
    named = [(number, s) for number, key in rows if 0 < len(s := name_steps(key)) <= LONGEST_NAME]
    hashes = begin(np.array([steps[0] for _, steps in named], dtype=np.uint64))
    length = 1
    while named:
        yield hashes, np.array([n if len(s) == length else 0 for n, s in named], dtype=np.int64)
        longer = [i for i, (_, steps) in enumerate(named) if len(steps) > length]
        named = [named[i] for i in longer]
        following = np.array([steps[length] for _, steps in named], dtype=np.uint64)
        hashes = extend(hashes[longer], following)
        length += 1
