"""The pages of a knowledge base as KILT needs them: found by what data names them, and who shares their names.

A query's name is what it calls the entity: the marked mention, the subject before [SEP], else the
longest name of the entity that its input contains, else the page's title without parentheses. The name
is shared when another entity with a page has it as its label, alias or title.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichone.files.folder import Folder
from whichone.files.tables import connect, read_batches, tables_sql
from whichone.knowledge.formats.wiki_site import clean_title, site_for
from whichone.knowledge.knowledge_tables import KIND
from whichone.knowledge.lookup import read_address
from whichone.names import name_key, title_key
from whichone.records import Bearer, NameSet, Query, grouped

NAME_KINDS = ("label", "alias", "title")


class GoldPage(msgspec.Struct, frozen=True):
    """A gold page: its title, the entity it is about, and the names that entity bears, by key."""

    page: str
    title: str
    entity: str
    names: frozenset[str]


class GoldNamesakes:
    """The name sets of a knowledge base that some gold page's entity belongs to."""

    def __init__(self, base: str | Path, gold: Iterable[str], kinds: Sequence[str] = NAME_KINDS):
        self._folder = Folder.open(base, KIND)
        self._kinds = kinds
        self.gold: dict[str, GoldPage] = {}
        self.sets: dict[str, NameSet] = {}
        with connect() as connection:
            connection.register("gold", pa.table({"page": pa.array(sorted(set(gold)), pa.string())}))
            self._read_gold(connection)
            self._read_bearers(connection)

    def place(self, query: Query) -> Query:
        """The query with its entity, its name set, its role and its popularity."""
        pages = [self.gold[page] for page in _in_order(query) if page in self.gold]
        chosen = [(page, self._set(query, page)) for page in pages]
        page, name_set = next(((p, s) for p, s in chosen if s), chosen[0] if chosen else (None, None))
        attributes: dict[str, Any] = {
            **query.attributes,
            "gold_entities": [p.entity for p in pages],
            "shared_name": name_set is not None if page else None,
        }
        if page is None:
            return msgspec.structs.replace(query, attributes=attributes)
        bearer = _bearer(name_set, page.entity) or self._alone.get(page.entity)
        popularity = bearer.popularity if bearer else None
        return msgspec.structs.replace(
            query,
            name=name_set.name if name_set else query.name or title_key(page.title),
            name_set=name_set.id if name_set else None,
            entity=page.entity,
            role=bearer.role if bearer and name_set else None,
            attributes={**attributes, "popularity": popularity, "popularity_bin": popularity_bin(popularity)},
        )

    def _set(self, query: Query, page: GoldPage) -> NameSet | None:
        named = (self.sets.get(key) for key in _asked_for(query, page))
        return next((name_set for name_set in named if _bearer(name_set, page.entity)), None)

    def _read_gold(self, connection: Any) -> None:
        pages, names = self._table("pages"), self._table("names")
        rows = connection.sql(f"""
            with about as (
                select p.page, p.title, coalesce(p.entity, p.page) as entity
                from {pages} p join gold using (page)
            )
            select a.page, a.title, a.entity, list(distinct n.key) filter (n.key is not null)
            from about a left join {names} n on n.entity = a.entity and n.kind in {self._kinds}
            group by all order by a.page
        """).fetchall()
        for page, title, entity, keys in rows:
            names_of = frozenset({*(keys or ()), title_key(title)}) - {""}
            self.gold[page] = GoldPage(page, title, entity, names_of)

    def _read_bearers(self, connection: Any) -> None:
        keys = sorted({key for page in self.gold.values() for key in page.names})
        connection.register("keys", pa.table({"key": pa.array(keys, pa.string())}))
        pages, names, views = (self._table(t) for t in ("pages", "names", "views"))
        # Tables of their own, so that the small side of each join is known to be small.
        connection.execute(f"""
            create temp table bearers as
            select distinct key, entity from {names} join keys using (key)
            where kind in {self._kinds}
        """)
        connection.execute(f"""
            create temp table listed as
            select b.key, b.entity, p.page, p.title
            from bearers b
            join {pages} p on coalesce(p.entity, p.page) = b.entity and p.kind = 'article'
        """)
        rows = connection.sql(f"""
            with seen as (
                select title, sum(views) as views from {views}
                where title in (select title from listed) group by title
            )
            select l.key, l.entity, l.page, l.title, s.views
            from listed l left join seen s on s.title = l.title
            order by l.key, l.entity, l.page
        """).fetchall()
        self._alone: dict[str, Bearer] = {}
        grouped: dict[str, dict[str, list[tuple[str, str, int | None]]]] = {}
        for key, entity, page, title, seen in rows:
            grouped.setdefault(key, {}).setdefault(entity, []).append((page, title, seen))
        for key, entities in grouped.items():
            bearers = [_made(entity, listed) for entity, listed in entities.items()]
            self._alone.update({bearer.entity: bearer for bearer in bearers})
            if len(bearers) > 1:
                self.sets[key] = _name_set(key, bearers)

    def _table(self, name: str) -> str:
        if not self._folder.has(f"{name}.parquet"):
            empty = "null::text as key, null::text as entity, null::text as kind, null::text as title"
            return f"(select {empty}, 0 as views where false)"
        return tables_sql(self._folder.parts(name))


def _made(entity: str, pages: list[tuple[str, str, int | None]]) -> Bearer:
    seen = [views for _, _, views in pages if views is not None]
    return Bearer(
        entity=entity,
        label=pages[0][1],
        popularity=float(sum(seen)) if seen else None,
        pages=tuple(page for page, _, _ in pages),
    )


def _name_set(key: str, bearers: Sequence[Bearer]) -> NameSet:
    """Head first; without page views nobody is head."""
    ranked = sorted(bearers, key=lambda b: (-(b.popularity or 0.0), b.entity))
    if any(bearer.popularity is not None for bearer in ranked):
        roles = ["head", *["tail"] * (len(ranked) - 1)]
        ranked = [msgspec.structs.replace(b, role=role) for b, role in zip(ranked, roles, strict=True)]
    return NameSet(id=f"name:{key}", name=key, collection="kilt", bearers=tuple(ranked))


def _bearer(name_set: NameSet | None, entity: str) -> Bearer | None:
    return next((b for b in (name_set.bearers if name_set else ()) if b.entity == entity), None)


def _asked_for(query: Query, page: GoldPage) -> list[str]:
    """Keys of the name that the query uses for the page's entity, the likeliest first."""
    if query.name:
        return [name_key(query.name), title_key(page.title)]
    text = f" {name_key(query.input)} "
    held = [key for key in page.names if _holds(text, key)]
    return sorted(held, key=lambda key: (-len(key), key))[:1] or [title_key(page.title)]


def _holds(text: str, key: str) -> bool:
    """Whether a name appears in a text between two characters that are no letters or digits."""
    places = (match.start() for match in re.finditer(f"(?={re.escape(key)})", text))
    return any(
        start and not text[start - 1].isalnum() and not text[start + len(key)].isalnum() for start in places
    )


def _in_order(query: Query) -> list[str]:
    """Gold pages in the order in which the record names them."""
    return list(dict.fromkeys(e.page for o in query.outputs for group in o.provenance for e in group))


def popularity_bin(views: float | None) -> str:
    """The power of ten of the page views, so that slices are few."""
    if views is None:
        return "not known"
    return f"10^{int(math.log10(views))}" if views >= 1 else "0"


Lengths = npt.NDArray[np.int64]
_ENTITY = re.compile(r"Q\d+")


class SnapshotPage(msgspec.Struct, frozen=True):
    page: str
    title: str
    entity: str | None
    paragraphs: Sequence[str]


class Snapshot:
    """Pages of one knowledge base, by id, title, address or entity, through its redirects.

    Everything that a dataset refers to is asked for together, so that the tables are read once and never held.
    """

    def __init__(self, base: str | Path) -> None:
        self.folder = Folder.open(base, KIND)

    def resolve(self, references: Iterable[str]) -> dict[str, str]:
        """The page of each id, title, address or Wikidata id; those that no page answers to are left out."""
        wanted = {reference: _forms(reference) for reference in set(references)}
        forms = {form for listed in wanted.values() for form in listed}
        numbers = {form for form in forms if form.isdigit()}
        ids = self._ids(numbers | {form for form in forms if ":" in form})
        ids |= self._entities({form for form in forms if _ENTITY.fullmatch(form)})
        titles: dict[str, str] = {}
        for row in self._rows("pages", ["page", "title"], "title", forms):
            titles[row["title"]] = min(row["page"], titles.get(row["title"], row["page"]))
        redirects = {}
        if self.folder.has("redirects.parquet"):
            rows = self._rows("redirects", ["title", "target_page"], "title", forms - titles.keys())
            redirects = {row["title"]: row["target_page"] for row in rows}
        known = {**redirects, **titles, **ids}
        resolved = (
            (reference, next(filter(None, map(known.get, wanted[reference])), None)) for reference in wanted
        )
        return {reference: page for reference, page in resolved if page}

    def pages(self, ids: Iterable[str] | None = None) -> Iterator[SnapshotPage]:
        """The pages with these ids and their text, in the order of the table; all of them without ids."""
        for row in self._rows("pages", ["page", "title", "entity", "paragraphs"], "page", ids):
            yield SnapshotPage(**{**row, "paragraphs": tuple(row["paragraphs"] or ())})

    def paragraph_lengths(self) -> Iterator[tuple[list[str], Lengths, Lengths]]:
        """Pages in blocks, the lengths of all their paragraphs, and where those of each page begin and end."""
        for batch in self._batches("pages", ["page", "paragraphs"]):
            paragraphs = batch["paragraphs"].fill_null([])
            ends = np.cumsum(pc.list_value_length(paragraphs).to_numpy(zero_copy_only=False))
            lengths = pc.fill_null(pc.utf8_length(paragraphs.flatten()), 0).to_numpy()
            offsets = np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int64)
            yield batch["page"].to_pylist(), lengths, offsets

    def _ids(self, numbers: set[str]) -> dict[str, str]:
        """Page ids by themselves and by their number in the wiki."""
        ids = {}
        wanted = pa.array(sorted(numbers), pa.string())
        for batch in self._batches("pages", ["page"]):
            own = pc.replace_substring_regex(batch["page"], "^[^:]*:", "")
            mask = pc.or_(pc.is_in(own, value_set=wanted), pc.is_in(batch["page"], wanted))
            for page in batch.filter(mask)["page"].to_pylist():
                ids[page] = page
                ids.setdefault(page.partition(":")[2], page)
        return ids

    def _entities(self, entities: set[str]) -> dict[str, str]:
        """The article about each entity; the first, where there are several."""
        rows = list(self._rows("pages", ["page", "entity", "kind"], "entity", entities))
        return {row["entity"]: row["page"] for row in reversed(rows) if row["kind"] == "article"}

    def names(self, ids: set[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
        rows = list(self._rows("names", ["entity", "name", "kind"], "entity", ids))
        labels = {row["entity"]: row["name"] for row in rows if row["kind"] == "label"}
        properties = self._rows("properties", ["property", "label"], "property", ids)
        labels |= {row["property"]: row["label"] for row in properties if row["label"]}
        return labels, grouped((row["entity"], row["name"]) for row in rows if row["kind"] == "alias")

    def _rows(
        self, table: str, columns: list[str], key: str, values: Iterable[str] | None
    ) -> Iterator[dict[str, Any]]:
        """The rows with one of the values, of all rows without values."""
        wanted = None if values is None else pa.array(sorted(set(values)), pa.string())
        if wanted is None or len(wanted):
            for batch in self._batches(table, columns):
                chosen = batch if wanted is None else batch.filter(pc.is_in(batch[key], value_set=wanted))
                yield from chosen.to_pylist()

    def _batches(self, table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from read_batches(self.folder.parts(table), 4096, columns)


def _forms(reference: str) -> list[str]:
    """What a reference may be called in the tables, the most literal first."""
    text = reference.strip()
    if "://" in text or text.startswith("//"):
        asked = read_address(text)
        text = asked.number or asked.title
    site = site_for("enwiki", "en")
    forms = [text, text.replace("_", " ").strip(), clean_title(text, site)]
    if "#" in text:
        forms.append(clean_title(text.partition("#")[0], site))
    return list(dict.fromkeys(form for form in forms if form))
