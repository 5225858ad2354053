"""Namesakes of a catalogue: entries of a knowledge base that share a name, with what tells them apart."""

from __future__ import annotations

from typing import Any

import msgspec

from whichone.files.folder import Folder
from whichone.files.tables import connect, tables_sql

MOST_BEARERS = 50
"""A name with more bearers is a word, not a name."""


class CatalogueValue(msgspec.Struct, frozen=True):
    """One value of an attribute: as it is written, and as a number where it is one."""

    text: str
    kind: str = "string"
    number: float | None = None

    @property
    def accepted(self) -> tuple[str, ...]:
        """How an answer may write it."""
        if self.kind == "quantity" and self.number is not None and self.number == int(self.number):
            return tuple(dict.fromkeys([self.text, f"{int(self.number):,}"]))
        return (self.text,)


class Entry(msgspec.Struct, kw_only=True):
    """One entry that shares its name, with its attributes and its pages."""

    entity: str
    name: str
    popularity: float | None = None
    types: tuple[str, ...] = ()
    pages: list[str] = []
    values: dict[str, list[CatalogueValue]] = {}

    def texts(self, attribute: str) -> frozenset[str]:
        return frozenset(value.text for value in self.values.get(attribute, ()))


class Namesakes(msgspec.Struct, kw_only=True):
    """A name and its bearers, the most popular first."""

    key: str
    name: str
    bearers: list[Entry]

    def tells_apart(self, bearer: Entry, attribute: str) -> bool:
        """Whether every bearer has the attribute, and nobody shares this one's value."""
        own = bearer.texts(attribute)
        others = [b for b in self.bearers if b is not bearer]
        return bool(own) and all((t := b.texts(attribute)) and not own & t for b in others)

    def shared_answer(self, bearer: Entry, attribute: str) -> bool:
        """Whether a namesake has one of the values: an answer that is right for several."""
        own = bearer.texts(attribute)
        return any(own & b.texts(attribute) for b in self.bearers if b is not bearer)


_SHARED = """
create temp table own as
select distinct n.key, n.entity from {names} n
where n.kind = 'label' and n.entity in (select entity from {pages} where kind = 'article');
create temp table shared as
select key, entity from own where key in
    (select key from own group by key having count(*) between 2 and {most});
"""
_ENTRIES = """
select s.key, s.entity, e.label, e.types, max(v.views) as views, min(e.position) as position
from shared s join {entities} e on e.entity = s.entity
left join {views} v on v.title = e.title
group by 1, 2, 3, 4 order by 1, 2
"""
_FACTS = """
select f.entity, f.property, f.kind, coalesce(l.label, f.value) as value
from {facts} f left join {entities} l on f.kind = 'entity' and l.entity = f.value
where f.entity in (select entity from shared) and coalesce(f.rank, 'normal') <> 'deprecated'
order by f.entity, f.place
"""
_PAGES = """
select entity, page from {pages} where kind = 'article' and entity in (select entity from shared)
order by entity, position, page
"""


def read_namesakes(kb: Folder) -> tuple[list[Namesakes], dict[str, str]]:
    """Every shared name of a knowledge base, and what its attributes are called."""
    tables = {
        name: tables_sql(kb.parts(name))
        for name in ("names", "pages", "entities", "facts", "views", "properties")
        if kb.has(f"{name}.parquet")
    }
    tables.setdefault("views", "(select null::varchar as title, null::bigint as views)")
    with connect() as connection:
        connection.execute(_SHARED.format(**tables, most=MOST_BEARERS))
        entries: dict[str, Entry] = {}
        by_key: dict[str, list[Entry]] = {}
        for key, entity, label, types, views, _ in _rows(connection, _ENTRIES.format(**tables)):
            popularity = None if views is None else float(views)
            entry = Entry(
                entity=entity,
                name=label or key,
                popularity=popularity,
                types=tuple(types or ()),
                pages=[],
                values={},
            )
            entries[entity] = entry
            by_key.setdefault(key, []).append(entry)
        for entity, attribute, kind, value in _rows(connection, _FACTS.format(**tables)):
            entries[entity].values.setdefault(attribute, []).append(_value(kind, value))
        for entity, page in _rows(connection, _PAGES.format(**tables)):
            entries[entity].pages.append(page)
        properties = _rows(connection, f"select property, label from {tables['properties']}")
        labels = {attribute: label or attribute for attribute, label in properties}
    sets = [
        Namesakes(
            key=key,
            name=bearers[0].name,
            bearers=sorted(bearers, key=lambda b: (-(b.popularity or 0), b.entity)),
        )
        for key, bearers in sorted(by_key.items())
    ]
    return sets, labels


def _rows(connection: Any, query: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.sql(query).fetchall()
    return rows


def _value(kind: str, value: str) -> CatalogueValue:
    if kind == "quantity":
        text = value.removeprefix("+")
        try:
            return CatalogueValue(text, kind, float(text))
        except ValueError:
            return CatalogueValue(text)
    if kind == "time":
        day = value.lstrip("+").partition("T")[0]
        text = day.partition("-")[0] if day.endswith("-00-00") else day
        year = text.partition("-")[0]
        return CatalogueValue(text, kind, float(year) if year.isdigit() else None)
    return CatalogueValue(value)
