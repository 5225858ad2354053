"""The names of a corpus's pages: where they come from, and their table in the order of their keys, found by hash."""

from __future__ import annotations

import bisect
import functools
import html
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichone.files.folder import Folder
from whichone.files.mapped import Hashes, HashIndex, MappedTable, Rows, hashes, run_starts, write_mapped
from whichone.files.tables import connect, sql_text, tables_sql
from whichone.knowledge.knowledge_tables import catalogues
from whichone.names import name_key, title_key, token_key, without_parentheses
from whichone.options import DEFAULT_MEMORY
from whichone.text.language import base_code, split_sentences

if TYPE_CHECKING:
    from whichone.knowledge.engines import Engine


_END = re.compile(r"[.!?](?<=[a-z0-9\)\"”].)(?=\s+[A-Z\"“]|\s*$)")  # a sign first: it is searched for quickly
_OPENING = re.compile(r"^\W*(?P<name>.+?)\s*(?:[,(–—]|\s(?:is|was|are|were|refers?|may refer)\b)", re.UNICODE)
# What follows a page's subject in other languages.
_OPENINGS = {
    "de": r"ist|war|sind|waren|bezeichnet|steht\s+für",
    "es": r"es|fue|era|son|eran|fueron|puede\s+referirse",
    "fr": r"est|était|fut|sont|étaient|désigne",
}
_CALLED = re.compile(
    r"\b(?:(?:better|best|also|commonly|professionally|simply|popularly|formerly|often|sometimes|mononymously)\s+)*"
    r"(?:known|called|credited|billed|nicknamed|styled|written)(?:\s+\w+ly)?(?:\s+(?:to|by|in)(?:\s+\w+){1,3}?)?\s+(?:as\s+|simply\s+)?"
    r"(?P<name>(?:[\"“'‘][^\"”’]{2,60}[\"”’])|(?:the\s+)?[A-Z][\w.’'-]*(?:\s+(?:[A-Z][\w.’'-]*|of|the|de|van|von|and|al|bin|ibn|la|le))*)"
)
_BORN = re.compile(
    r"\bborn\s+(?:as\s+)?(?P<name>[A-Z][\w.’'-]*(?:\s+(?:[A-Z][\w.’'-]*|de|van|von|of|la|le))+)"
)
_CALLING = re.compile("known|called|credited|billed|nicknamed|styled|written")
_QUOTED = re.compile(r"[\"“]([^\"”]{2,40})[\"”]")
_MONTHS = frozenset([
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
])  # fmt: skip
_JOINING = frozenset(
    ["of", "and", "the", "de", "da", "do", "del", "van", "von", "la", "le", "for", "in", "y"]
)
LONGEST = 8
_WORDS = re.compile(r"[^\W_]+")


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
    patterns = [_CALLED] if code == "en" and _CALLING.search(sentence) else []
    if code == "en" and "born" in sentence:
        patterns.append(_BORN)
    called = [
        name
        for pattern in patterns
        for match in pattern.finditer(sentence)
        if _is_name(name := match["name"].strip("\"“”'‘’ .,"))
    ]
    if opening is not None:  # "Robert LeRoy Parker, better known as Butch Cassidy"
        own = any(name_key(name) == name_key(title) for name in called)
        yield from _subject(opening["name"], opening["name"] if own else title)
    yield from called


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
    if title and name.startswith(f"{title} "):
        after = name.removeprefix(title).split()[0]
        if after.islower() and after not in _JOINING:  # "Ada Park works in Leeds, ..."
            return
    yield name
    quoted = _QUOTED.search(name)
    if quoted is not None:  # William "Bill" Evans is William Evans and Bill Evans
        before, after = name[: quoted.start()].strip(), name[quoted.end() :].strip()
        if before and after:
            yield f"{before} {after}"
            yield f"{quoted[1]} {after.split()[-1]}"


def _is_name(text: str) -> bool:
    if not (words := text.split()) or len(words) > LONGEST or len(text) < 2:
        return False
    first = words[1] if words[0].lower() == "the" and len(words) > 1 else words[0]
    return (first[0].isupper() or first[0].isdigit()) and words[0].lower() not in _MONTHS


# Where a name comes from.
#
# "before comma" is the Raymond of "Raymond, Maine"; "document" the title of a document that one entity alone
# has, which finds the document and names nobody.
_Kind = Literal["title", "document", "before comma", "redirect", "anchor", "alias", "first sentence"]
# Names that come from elsewhere than the page's own title and text.
FURTHER = ("redirect", "anchor", "alias")


class Named(msgspec.Struct, frozen=True):
    """A name as it is written, where it comes from, and how often it is used so."""

    name: str
    kind: _Kind = "title"
    count: int = 1

    def row(self, page: int) -> dict[str, Any]:
        return {"key": token_key(self.name), "page": page, **msgspec.structs.asdict(self)}


class Bearing(msgspec.Struct, frozen=True):
    """A page, by its row, that a name points at."""

    page: int
    name: str
    kind: str
    count: int


def names_of_page(title: str, text: str, language: str = "en") -> Iterator[Named]:
    plain = html.unescape(title).replace("_", " ").strip()
    if bare := without_parentheses(plain):
        yield Named(bare)
    keys = {name_key(bare)}
    if plain != bare and (key := name_key(plain)) not in keys:
        keys.add(key)
        yield Named(plain)
    before, comma, _ = bare.partition(", ")
    if comma and before:
        yield Named(before, "before comma")
    for name in names_in_first_sentence(bare, text, language):
        if name != bare and (key := name_key(name)) and key not in keys:
            keys.add(key)
            yield Named(name, "first sentence")


class CorpusNames:
    def __init__(self, table: MappedTable, index: HashIndex) -> None:
        self.table, self._index = table, index

    @classmethod
    def of(cls, table: MappedTable) -> CorpusNames:
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
        if not (wanted := list(dict.fromkeys(keys))) or not len(self.table):
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
    starts = run_starts(table.table()["key"])
    for first in range(0, len(starts), _BATCH):
        rows = starts[first : first + _BATCH]
        yield hashes(table.take(rows, ["key"])["key"].to_pylist()), rows


_BATCH = 65_536
KNOWLEDGE_NAMES_LONGEST = 80  # Texts of links longer than so many characters are phrases, not names


def names_of_pages(
    kb: Folder, memory: str = DEFAULT_MEMORY, engine: Engine | None = None
) -> Iterator[tuple[str, Named]]:
    """Page and name for every redirect, for every text of links with how often it leads there, and for a catalogue's names.

    An engine with workers counts them there.
    """
    if engine is not None and engine.shared:
        yield from _names(kb, engine.query)
        return
    with connect(memory) as connection:
        yield from _names(kb, lambda query: connection.sql(query).to_arrow_reader(_BATCH))


def names_in_catalogues(kb: Folder) -> pa.Table | None:
    """The names of the entities of catalogues: entity, and `title_key` of the name; None without a catalogue."""
    if not (named := catalogues(kb)):
        return None
    with connect() as connection:
        query = f"select distinct entity, name from {_files(kb, 'names')} where {_of_catalogues(named)}"
        rows = connection.sql(f"{query} and kind in ('label', 'alias')").fetchall()
    return pa.table([[entity for entity, _ in rows], [title_key(name) for _, name in rows]], _KNOWN_AS)


def _of_catalogues(names: Sequence[str]) -> str:
    chosen = " or ".join(f"left(entity, {len(name) + 1}) = {sql_text(f'{name}:')}" for name in names)
    return f"({chosen})"


def _names(kb: Folder, run: Callable[[str], Iterable[Any]]) -> Iterator[tuple[str, Named]]:
    if named := catalogues(kb):
        query = f"""select p.page, n.name from (select * from {_files(kb, "pages")} where {_of_catalogues(named)}) p
            join {_files(kb, "names")} n on n.entity = p.entity
            where n.kind in ('label', 'alias') and n.name <> p.title"""
        for page, name in _rows(run(query)):
            yield page, Named(name, "alias")
    if kb.has("redirects.parquet"):
        query = f"select target_page, title from {_files(kb, 'redirects')} where target_page is not null"
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


_SAMPLED = 50  # Documents of an entity in which its titles are looked for
# How many times fewer entities must have a title than any other of an entity's, to be its name by that alone.
_RARER = 10
_TITLES = f"""
create table titles as
select entity, key, any_value(words) as words, bool_or(own) as own,
    regexp_replace(key, '[0-9]+', '#', 'g') as shape
from documents where key <> '' group by entity, key;

create table several as
select entity, bool_or(own) as owned from titles group by entity having count(*) > 1;

create table sampled as
select d.entity, d.key, ' ' || trim(regexp_replace(lower(p.title || ' ' || p.text), '[^\\p{{L}}\\p{{N}}]+', ' ', 'g')) || ' ' as said
from (select *, row_number() over (partition by entity order by page, n) as place from documents) d
semi join several using (entity)
join passages p on p.page = d.page and p.n = d.n
where d.place <= {_SAMPLED};

create table weighed as
with mentioned as (
    select t.entity, t.key, avg(contains(s.said, ' ' || t.words || ' ')::int) as support
    from titles t semi join several using (entity)
    join sampled s on s.entity = t.entity and s.key <> t.key
    where t.words <> '' group by t.entity, t.key
),
shapes as (select shape, count(distinct entity) as entities from titles group by shape),
measured as (
    select t.entity, t.shape, t.key, t.own, v.owned, coalesce(m.support, 0) as support, h.entities,
        max(coalesce(m.support, 0)) over (partition by t.entity) as most,
        min(h.entities) over (partition by t.entity) as fewest
    from titles t join several v using (entity) join shapes h using (shape)
    left join mentioned m on m.entity = t.entity and m.key = t.key
),
compared as (
    select *, coalesce(min(entities) filter (where entities > fewest) over (partition by entity), 0) as next_fewest,
        count(distinct shape) filter (where entities = fewest) over (partition by entity) as as_few
    from measured
)
select entity, key, shape, case
    when owned then own
    when most > 0 then support = most
    else entities = fewest and as_few = 1 and next_fewest >= {_RARER} * fewest
end as named
from compared;

create table called as
with lost as (
    select shape from weighed group by shape having sum(named::int) * 2 < count(*)
)
select entity, key from weighed anti join known_as using (entity) where named
union all
select entity, key from titles anti join several using (entity) anti join known_as using (entity)
where own or shape not in (select shape from lost)
union all
select entity, key from titles semi join known_as using (entity, key);
"""
_DECIDED = """
with pages as (
    select page, entity, key, arg_min(title, n) as title, min(n) as n from documents group by page, entity, key
),
alone as (select key from documents group by key having count(distinct entity) = 1)
select p.page, p.title,
    case when c.key is not null then 'name' when a.key is not null then 'alone' else '' end as state
from pages p left join called c on c.entity = p.entity and c.key = p.key left join alone a on a.key = p.key
order by p.page, c.key is null, p.n
"""


_KNOWN_AS = pa.schema([("entity", pa.string()), ("key", pa.string())])


def titles_of_entities(
    passages: MappedTable, known_as: pa.Table | None = None, near: Path | None = None
) -> Iterator[pa.RecordBatch]:
    """For each page about an entity its titles, names first: page, title, whether it names the entity, whether no other entity has it.

    Of entities that are `known_as` something (entity and `title_key` of each name) titles that are one of these names
    name them. Of any other the name is the title of the document that has the entity's own id. Where there is none it is the
    title of all its documents; else the one that most of its other documents mention; else, where the texts
    mention none, the one that by far the fewest entities have, digits apart. A title that loses so among the
    entities with several titles is no name of an entity with a single one either.
    """
    columns = ["page", "n", "title", "source_id", "entity"]
    if all(b["entity"].null_count == b.num_rows for b in passages.batches(["entity"])):
        return
    with connect(spill=near) as connection:
        connection.execute(
            "create table documents (page varchar, n int, title varchar, entity varchar, key varchar,"
            " words varchar, own bool)"
        )
        for batch in passages.batches(columns):
            about = batch.filter(batch["entity"].is_valid())
            titles = about["title"].to_pylist()
            keys = {title: title_key(title or "") for title in set(titles)}
            words = {title: " ".join(_WORDS.findall(key)) for title, key in keys.items()}
            rows = pa.table(
                {
                    **{name: about[name] for name in ("page", "n", "title", "entity")},
                    "key": pa.array([keys[title] for title in titles], pa.string()),
                    "words": pa.array([words[title] for title in titles], pa.string()),
                    "own": pc.fill_null(pc.equal(about["source_id"], about["entity"]), False),
                }
            )
            connection.register("rows", rows)
            connection.execute("insert into documents select * from rows")
            connection.unregister("rows")
        connection.register("known_as", _KNOWN_AS.empty_table() if known_as is None else known_as)
        connection.register("passages", passages.table().select(["page", "n", "title", "text"]))
        connection.execute(_TITLES)
        yield from connection.sql(_DECIDED).to_arrow_reader(_BATCH)


class EntityTitles(msgspec.Struct, frozen=True):
    """The titles on a page about an entity: those that name it, and those that no other entity has."""

    named: tuple[str, ...]
    alone: tuple[str, ...]

    def names(self, title: str, own: Iterable[Named]) -> Iterator[Named]:
        """Of the names that the page's title and first sentence give, and the further titles, those that are names."""
        for named in own:
            if title in self.named or named.kind not in ("title", "before comma"):
                yield named
        for other in self.named:
            if other != title:
                yield from names_of_page(other, "")
        for other in self.alone:
            yield from (Named(one.name, "document") for one in names_of_page(other, ""))


class TitlesOfEntities:
    """What was decided about the titles of a corpus whose passages say whom they are about."""

    FILE = ".titles.arrow"
    _SCHEMA = pa.schema([("page", pa.string()), ("title", pa.string()), ("state", pa.string())])

    def __init__(self, folder: Path) -> None:
        path = folder / self.FILE
        self._table = MappedTable.open(path) if path.exists() else None

    @classmethod
    def decide(
        cls, folder: Path, passages: MappedTable, known_as: pa.Table | None = None
    ) -> TitlesOfEntities:
        """Write the decisions beside the passages, unless a killed writer has."""
        path = folder / cls.FILE
        if not path.exists() and (batches := list(titles_of_entities(passages, known_as, folder))):
            write_mapped(path, (b.cast(cls._SCHEMA) for b in batches), cls._SCHEMA)
        return cls(folder)

    def of_pages(self, first: str, last: str) -> dict[str, EntityTitles]:
        """Those of the pages from one to another, in the order of their ids."""
        if (table := self._table) is None:
            return {}
        start = bisect.bisect_left(range(len(table)), first, key=lambda r: table.string(r, "page"))
        end = bisect.bisect_right(range(len(table)), last, key=lambda r: table.string(r, "page"))
        rows = table.slice(start, end - start, self._SCHEMA.names).to_pylist()
        return {
            page: EntityTitles(
                tuple(row["title"] for row in listed if row["state"] == "name"),
                tuple(row["title"] for row in listed if row["state"] == "alone"),
            )
            for page, group in itertools.groupby(rows, key=operator.itemgetter("page"))
            for listed in [list(group)]
        }

    def titled(self, blocks: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Pages under the name of their entity, where one of their titles is that."""
        for block in blocks:
            pages, titles = block["page"].to_pylist(), block["title"].to_pylist()
            decided = self.of_pages(pages[0], pages[-1])
            chosen = [
                decided[page].named[0] if page in decided and decided[page].named else title
                for page, title in zip(pages, titles, strict=True)
            ]
            yield block.set_column(1, "title", pa.array(chosen, pa.string())) if decided else block
