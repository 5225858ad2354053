"""A knowledge base as users meet it: opened from its folder, asked for tables and for what it says about a name."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from whichone.files.folder import Folder
from whichone.files.tables import connect, tables_sql
from whichone.knowledge.knowledge_tables import KIND
from whichone.knowledge.lookup import Lookup, NameBearer
from whichone.knowledge.lookup_build import popularity_measure
from whichone.names import name_key
from whichone.records import grouped


class KnowledgeBase:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> Self:
        return cls(Folder.open(path, KIND))

    @property
    def id(self) -> str:
        """Its name and the first 12 hex digits of its content's hash."""
        return f"{self.folder.manifest.name or 'knowledge'}-{self.folder.content_hash[:12]}"

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        return self.folder.table(name, columns)

    @functools.cached_property
    def lookup(self) -> Lookup:
        return Lookup.open(self.folder.root)


_FACTS = 100  # a bearer; the document says how many there are
_SHOWN = 8  # a bearer, in the text


def show_name(base: str | Path, name: str) -> dict[str, Any]:
    """The bearers of a name with their facts, the most popular first.

    An entity's id, a page's id and a page's address are names too.
    """
    folder = Folder.open(base, KIND)
    with Lookup.open(folder) as lookup:
        if not (bearers := lookup.bearers(name)):
            page = lookup.page_of_url(name) if "://" in name else lookup.page(name)
            about = lookup.entity((page.entity or page.page) if page else name)
            bearers = [NameBearer(about=about)] if about else []
        facts = _facts(folder, [b.about.entity for b in bearers])
        all_bearers = [_bearer(lookup, bearer, facts.get(bearer.about.entity, [])) for bearer in bearers]
        near = [] if all_bearers else [s.name for s in lookup.search(name).names]
    return {
        "name": name,
        "key": name_key(name),
        "popularity": popularity_measure(folder),
        "bearers": all_bearers,
        "near": near,
    }


def _bearer(lookup: Lookup, bearer: NameBearer, facts: list[tuple[Any, ...]]) -> dict[str, Any]:
    about = bearer.about
    return {
        "entity": about.entity,
        "label": about.label,
        "description": about.description,
        "types": [{"id": t, "label": _label(lookup, t)} for t in about.types],
        "popularity": about.popularity,
        "named_by": list(bearer.kinds),
        "links": bearer.links,
        "pages": [{"page": p.page, "title": p.title, "kind": p.kind} for p in lookup.pages_of(about.entity)],
        "facts": [_fact(lookup, fact) for fact in facts[:_FACTS]],
        "fact_count": len(facts),
    }


def _fact(lookup: Lookup, fact: tuple[Any, ...]) -> dict[str, Any]:
    _, prop, label, kind, value, unit = fact
    facts = {"property": prop, "label": label, "kind": kind, "value": value}
    if kind == "entity":
        facts["value_label"] = _label(lookup, value)
    if unit:
        facts["unit"] = _label(lookup, unit) or unit
    return facts


def _label(lookup: Lookup, entity: str) -> str | None:
    about = lookup.entity(entity)
    return about.label if about else None


def _facts(folder: Folder, entities: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The facts of some entities in the order of the dump, with the labels of their properties."""
    if not entities or not folder.has("facts.parquet"):
        return {}
    facts, properties = (tables_sql(folder.parts(t)) for t in ("facts", "properties"))
    with connect("512MB") as engine:
        rows = engine.execute(
            f"""select f.entity, f.property, p.label, f.kind, f.value, f.unit
            from {facts} f left join {properties} p on p.property = f.property
            where f.entity in (select unnest(?)) order by f.entity, f.place""",
            [entities],
        ).fetchall()
    return grouped((row[0], row) for row in rows)


def describe_name(document: dict[str, Any]) -> str:
    if not (bearers := document["bearers"]):
        near = document["near"]
        lines = [f"nobody is called {document['name']!r} here"]
        return "\n".join([*lines, f"near: {', '.join(near)}"] if near else lines)
    count = len(bearers)
    lines = [f"{document['name']}: {count} bearer{'s' if count > 1 else ''}"]
    for place, bearer in enumerate(bearers):
        lines += ["", *_lines(place, bearer)]
    return "\n".join(lines)


def _lines(place: int, bearer: dict[str, Any]) -> list[str]:
    about = f", {bearer['description']}" if bearer["description"] else ""
    lines = [f"{place + 1}. {bearer['label'] or bearer['entity']} ({bearer['entity']}){about}"]
    known = [
        ("is a", ", ".join([t["label"] or t["id"] for t in bearer["types"]])),
        ("popularity", "" if bearer["popularity"] is None else f"{bearer['popularity']:,.0f}"),
        ("called so as", ", ".join(bearer["named_by"])),
        ("links with this text", f"{bearer['links']:,}" if bearer["links"] else ""),
        ("page", ", ".join(f"{p['title']} ({p['page']})" for p in bearer["pages"])),
    ]
    lines += [f"   {what}: {value}" for what, value in known if value]
    for fact in bearer["facts"][:_SHOWN]:
        value = fact.get("value_label") or fact["value"]
        unit = f" {fact['unit']}" if fact.get("unit") else ""
        lines.append(f"   {fact['label'] or fact['property']}: {value}{unit}")
    more = bearer["fact_count"] - _SHOWN
    return [*lines, f"   … {more} more facts"] if more > 0 else lines
