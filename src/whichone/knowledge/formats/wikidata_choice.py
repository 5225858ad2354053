"""The parts of a Wikidata entity's JSON that are read, and which entities of a dump are kept.

Kept are those with a page, the values of their facts, and the classes above.
"""

from typing import Annotated, Any

import msgspec

from whichone.files.tables import tables_sql
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats.sources import PartFiles

SUBCLASS_OF = "P279"


class WikidataChoice:
    """Relations of one dump, kept as files: entities that are kept, and the classes above types."""

    def __init__(self, parts: PartFiles, queries: MergeQueries, *, without_page: bool) -> None:
        self._parts, self._queries = parts, queries
        paged = "true" if without_page else "title is not null"
        self._seen = self._keep(
            "seen",
            f"""select entity, min(position) as position, bool_or({paged}) as paged, count(*) as times
            from ({all_entities(parts)}) group by entity""",
        )
        self.twice = int(queries.fetch(f"select sum(times - 1) from {self._seen}")[0][0] or 0)
        first = f"semi join {self._seen} using (entity, position)" if self.twice else ""
        facts = f"""select entity, property, value from ({parts.rows("facts")}) {first}
            where kind = 'entity'"""
        self._paged = f"select entity from {self._seen} where paged"
        self._valued = self._keep(
            "valued",
            f"""select distinct value as entity from ({facts})
            semi join ({self._paged}) using (entity)""",
        )
        self._subclasses = self._keep(
            "subclasses", f"select entity, value from ({facts}) where property = '{SUBCLASS_OF}'"
        )
        self.absent = int(
            queries.fetch(
                f"""select count(*) from {self._valued} v anti join {self._seen} s
                using (entity) where starts_with(v.entity, 'Q')"""
            )[0][0]
        )
        # What has a page, what is a value of such, and all classes above.
        either = f"{self._paged} union all select entity from {self._valued}"
        above = self._parts.folder / "superclasses.parquet"
        self._queries.keep_closure(
            "superclasses",
            f"select value as entity from {self._subclasses} semi join ({either}) using (entity)",
            f"select b.value from superclasses a join {self._subclasses} b on b.entity = a.entity",
            above,
        )
        self.kept = self._keep(
            "kept",
            f"""select entity, position from {self._seen}
            semi join ({either} union all select entity from {tables_sql([above])}) using (entity)""",
        )

    def _keep(self, name: str, query: str) -> str:
        file = self._parts.folder / f"{name}.parquet"
        self._queries.keep(query, file)
        return tables_sql([file])

    def above(self) -> str:
        """For each list of types that some item has, all classes above them, by their ids."""
        held = self._keep(
            "held",
            f"""select types, unnest(types) as class from (select distinct types
            from ({self._parts.rows("entities")}) where array_length(types) > 0)""",
        )
        classes = self._parts.folder / "classes.parquet"
        self._queries.keep_closure(
            "above",
            f"select h.types, b.value as class from {held} h join {self._subclasses} b on b.entity = h.class",
            f"select a.types, b.value from above a join {self._subclasses} b on b.entity = a.class",
            classes,
        )
        return self._keep(
            "above",
            f"""select types, list_sort(list(distinct class)) as above
            from {tables_sql([classes])} group by types""",
        )


def all_entities(parts: PartFiles) -> str:
    return f"{parts.rows('entities')} union all by name {parts.rows('others')}"


class WikidataText(msgspec.Struct, gc=False):
    value: str


class WikidataValue(
    msgspec.Struct, gc=False, rename={"entity_type": "entity-type", "numeric_id": "numeric-id"}
):
    id: str | None = None
    entity_type: str | None = None
    numeric_id: int | None = None
    amount: str | None = None
    unit: str | None = None
    time: str | None = None
    precision: float | None = None
    text: str | None = None
    language: str | None = None
    latitude: float | None = None
    longitude: float | None = None


class DataValue(msgspec.Struct, gc=False):
    value: str | WikidataValue
    type: str


class Snak(msgspec.Struct, gc=False):
    snaktype: str = "value"
    datavalue: DataValue | None = None


class WikidataStatement(msgspec.Struct, gc=False):
    mainsnak: Snak
    rank: str = "normal"


class Sitelink(msgspec.Struct, gc=False):
    title: str


# Wikibase writes an empty map as an empty list in some dumps.
NoEntries = Annotated[list[None], msgspec.Meta(max_length=0)]


def by_language(name: str, languages: tuple[str, ...], value: Any) -> Any:
    """A record with one optional field a language; all other languages are passed over unread."""
    fields = [(f"in_{n}", value | None, None) for n in range(len(languages))]
    rename = {f"in_{n}": language for n, language in enumerate(languages)}
    return msgspec.defstruct(name, fields, rename=rename, gc=False) | NoEntries | None


def fact_of(given: DataValue) -> tuple[str, str, str | None, int | None, str | None] | None:
    """Kind, value, unit, precision and language; None for a kind of value that is not known."""
    value, kind = given.value, given.type
    if isinstance(value, str):
        return ("string", value, None, None, None) if kind == "string" else None
    if kind == "wikibase-entityid":
        # before 2017 dumps gave the number of an entity only
        letter = {"item": "Q", "property": "P", "lexeme": "L"}.get(value.entity_type or "")
        numbered = f"{letter}{value.numeric_id}" if letter and value.numeric_id is not None else None
        entity = value.id or numbered
        return ("entity", entity, None, None, None) if entity else None
    if kind == "quantity" and value.amount is not None:
        unit = None if value.unit in (None, "1") else value.unit.rpartition("/entity/")[2]
        return "quantity", value.amount, unit, None, None
    if kind == "time" and value.time is not None:
        given_precision = value.precision or 0  # Wikidata's are 0 to 14
        return "time", value.time, None, int(given_precision) if 0 <= given_precision <= 127 else 0, None
    if kind == "monolingualtext" and value.text is not None:
        return "monolingual", value.text, None, None, value.language
    if kind == "globecoordinate" and value.latitude is not None and value.longitude is not None:
        return "coordinate", f"{value.latitude!r} {value.longitude!r}", None, None, None
    return None
