"""Which entities of a Wikidata dump are kept: those with a page, the values of their facts, and the classes above."""

from __future__ import annotations

from whichone.files.tables import tables_sql
from whichone.knowledge.engine.queries import Queries
from whichone.knowledge.formats.source import PartFiles

SUBCLASS_OF = "P279"


class WikidataChoice:
    """Relations of one dump, kept as files: entities that are kept, and the classes above types."""

    def __init__(self, parts: PartFiles, queries: Queries, *, without_page: bool) -> None:
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
        self.kept = self._kept()

    def _keep(self, name: str, query: str) -> str:
        file = self._parts.folder / f"{name}.parquet"
        self._queries.keep(query, file)
        return tables_sql([file])

    def _kept(self) -> str:
        """What has a page, what is a value of such, and all classes above."""
        either = f"{self._paged} union all select entity from {self._valued}"
        above = self._parts.folder / "superclasses.parquet"
        self._queries.keep_closure(
            "superclasses",
            f"select value as entity from {self._subclasses} semi join ({either}) using (entity)",
            f"select b.value from superclasses a join {self._subclasses} b on b.entity = a.entity",
            above,
        )
        return self._keep(
            "kept",
            f"""select entity, position from {self._seen}
            semi join ({either} union all select entity from {tables_sql([above])}) using (entity)""",
        )

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
