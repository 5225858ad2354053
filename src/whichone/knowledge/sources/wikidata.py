"""A Wikidata JSON dump as a source: which of its rows a knowledge base keeps.

Kept are entities with a page in the chosen wiki, the values of their facts, and all superclasses of
these; of the latter two only names and P279. An entity that stands in the dump twice counts once,
where it stands first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.parts import beginning
from whichone.files.tables import connect, sql_text
from whichone.knowledge.readers.wikidata import SUBCLASS_OF, Selection, WikidataReader
from whichone.knowledge.sources.source import DumpFile, Job, PartFiles, Read, Refused
from whichone.progress import talk


class WikidataDump(DumpFile):
    kind = "wikidata"

    def __init__(self, path: str | Path, selection: Selection) -> None:
        super().__init__(path)
        self.selection = selection

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.selection)
        return found | {"properties": found["properties"] or "all"}

    def check(self) -> None:
        start = beginning(self.path).lstrip()
        if start.startswith(b"<"):
            what, hint = "XML", "a Wikipedia dump is taken in by --pages"
        elif b'"wikipedia_id"' in start and b'"labels"' not in start:
            what, hint = "KILT's knowledge source", "it is taken in by --pages"
        elif not start.startswith((b"{", b"[")):
            what, hint = "no JSON", "Wikidata's dumps are called latest-all.json.bz2 and the like"
        else:
            return
        raise BadInput(f"this is {what}, not a Wikidata JSON dump", file=self.path, hint=hint)

    @cached_property
    def _reader(self) -> WikidataReader:
        return WikidataReader(self.selection)

    def read(self, job: Job) -> Read:
        reader = self._reader
        reader.start()
        refused: list[Refused] = []
        for chunk in self.chunks(job):
            reader.read(chunk.data)
            if reader.refused or chunk.problem:
                refused.extend(self.refuse(chunk, reader.refused))
                reader.refused.clear()
        return Read(reader.tables(), reader.counted(), refused)

    def finish(self, parts: PartFiles, memory: str) -> dict[str, str]:
        self._check_brackets(parts)
        without = parts.counted("items without a page")
        if without and not parts.counted("items with a page") and not self.selection.without_page:
            talk(
                f"{self.path.name}: none of its {without:,} items has a page in {self.selection.wiki}, "
                "so that none is kept; --language or --wiki name another wiki, --without-page keeps all"
            )
        kept = parts.folder / "kept.parquet"
        with connect(memory, parts.folder) as connection:
            connection.execute(_seen(parts, self.selection))
            twice = int(connection.sql(_TWICE).fetchall()[0][0] or 0)
            for statement in _kept(parts, str(kept), twice > 0):
                connection.execute(statement)
            absent = connection.sql(_ABSENT).fetchall()[0][0]
            if self.selection.superclasses:
                connection.execute(_above(parts, str(parts.folder / "above.parquet")))
        parts.notes["entities that stand twice"] = twice
        parts.notes["values that are not in the dump"] = absent
        chosen = f"join read_parquet({sql_text(kept)}) using (entity, position)"
        every = _all_entities(parts)
        types, classed = "types", ""
        if self.selection.superclasses:
            more = "list_filter(above, lambda c: not list_contains(types, c))"
            types = f"case when above is null then types else list_concat(types, {more}) end"
            classed = (
                f"left join read_parquet({sql_text(parts.folder / 'above.parquet')}) using (types)"
            )
        return {
            "entities": f"""select entity, label, description, {types} as types, sitelinks, title,
                position, 'wikidata' as source from ({every}) {chosen} {classed}""",
            "names": f"""select entity, name, language, kind, 1 as count, place
                from (
                    select entity, label as name, label_language as language, 'label' as kind,
                        0 as place, position
                    from ({every}) where label is not null
                    union all by name {parts.rows("names")}
                ) {chosen}""",
            "facts": f"""select entity, property, kind, value, unit, precision, language, rank, place
                from ({parts.rows("facts")}) {chosen}""",
            "properties": f"""select property, arg_min(label, position) as label,
                arg_min(datatype, position) as datatype, min(position) as position
                from ({parts.rows("properties")}) group by property""",
        }

    def _check_brackets(self, parts: PartFiles) -> None:
        opened, closed = parts.counted("opening brackets"), parts.counted("closing brackets")
        if opened != closed:
            raise BadInput(
                "its list is opened and never closed: the dump is cut off",
                file=self.path,
                hint="fetch the file again and compare its checksum",
            )


_TWICE = "select sum(times - 1) from seen"
_ABSENT = """
    select count(*) from valued anti join seen using (entity) where starts_with(entity, 'Q')
"""


def _seen(parts: PartFiles, selection: Selection) -> str:
    paged = "true" if selection.without_page else "title is not null"
    return f"""
        create temp table seen as
        select entity, min(position) as position, bool_or({paged}) as paged, count(*) as times
        from ({_all_entities(parts)}) group by entity
    """


def _kept(parts: PartFiles, file: str, twice: bool) -> Iterator[str]:
    """Which entities are kept, each at its first place in the dump."""
    first = "semi join seen using (entity, position)" if twice else ""
    yield f"""
        create temp view facts as
        select entity, property, value from ({parts.rows("facts")}) {first} where kind = 'entity'
    """
    yield "create temp view paged as select entity from seen where paged"
    yield """
        create temp table valued as
        select distinct value as entity from facts semi join paged using (entity)
    """
    yield f"""
        copy (
            with recursive subclasses as (
                select entity, value from facts where property = '{SUBCLASS_OF}'
            ),
            superclasses as (
                select value as entity from subclasses
                semi join (from paged union all from valued) using (entity)
                union
                select value from superclasses join subclasses using (entity)
            )
            select entity, position from seen
            semi join (from paged union all from valued union all from superclasses) using (entity)
        ) to {sql_text(file)} (format parquet)
    """


def _above(parts: PartFiles, file: str) -> str:
    """For each list of types that some item has, all classes above them, by their ids."""
    return f"""
        copy (
            with recursive held as (
                select types, unnest(types) as class
                from (select distinct types from ({parts.rows("entities")}) where len(types) > 0)
            ),
            subclasses as (select entity, value from facts where property = '{SUBCLASS_OF}'),
            above as (
                select types, value as class from held join subclasses on entity = class
                union
                select types, value from above join subclasses on entity = class
            )
            select types, list(distinct class order by class) as above from above group by types
        ) to {sql_text(file)} (format parquet)
    """


def _all_entities(parts: PartFiles) -> str:
    return f"{parts.rows('entities')} union all by name {parts.rows('others')}"
