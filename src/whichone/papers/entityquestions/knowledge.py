"""What the builder asks of a knowledge base, as relations reduced before they become Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow as pa

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engine.engines import Tables

Frequency = Literal["links", "views", "sitelinks"]


class Subject(msgspec.Struct, frozen=True):
    """An entity that has an article: its page, name and frequency."""

    entity: str
    label: str
    page: str
    title: str
    frequency: float | None


class Bearers(msgspec.Struct, frozen=True):
    """Who bears which name, and what is known of each bearer."""

    by_key: dict[str, tuple[str, ...]]
    types: dict[str, frozenset[str]]
    subjects: dict[str, Subject]


def rows(relation: Table) -> Iterator[dict[str, Any]]:
    for batch in relation.to_pyarrow().to_batches(max_chunksize=50_000):
        yield from batch.to_pylist()


def facts_of(tables: Tables, relations: Sequence[str]) -> Table:
    """Facts of the relations whose value is an entity, deprecated ones left out."""
    facts = tables.facts
    facts = facts.filter(
        facts["property"].isin(list(relations)),
        facts.kind == "entity",
        facts["rank"] != "deprecated",
    )
    return facts.select("entity", "property", "value", nth=facts["place"])


def subjects(tables: Tables, entities: Table, frequency: Frequency) -> dict[str, Subject]:
    """Those of `entities` (a column `entity`) that have a label and an article; the first where two."""
    pages = tables.pages
    pages = pages.filter(pages.kind == "article", pages.entity.notnull())
    pages = pages.group_by("entity").agg(page=pages.page.min())
    pages = pages.inner_join(tables.pages.select("page", "title"), "page")
    known = tables.entities.select("entity", "label", "sitelinks").semi_join(entities, "entity")
    joined = known.inner_join(pages, "entity").left_join(_frequencies(tables, frequency), "page")
    chosen = joined.select("entity", "label", "page", "title", "sitelinks", "met")
    return {
        row["entity"]: Subject(
            row["entity"], row["label"], row["page"], row["title"], _frequency(row, frequency)
        )
        for row in rows(chosen)
        if row["label"]
    }


def _frequency(row: dict[str, Any], frequency: Frequency) -> float | None:
    if frequency == "sitelinks":
        return None if row["sitelinks"] is None else float(row["sitelinks"])
    return float(row["met"] or 0)


def _frequencies(tables: Tables, frequency: Frequency) -> Table:
    """How often each page is met: links to it, or views of it."""
    if frequency == "views":
        viewed = tables.views.group_by("title").agg(met=tables.views.views.sum())
        pages = tables.pages.select("page", "title").inner_join(viewed, "title")
        return pages.select("page", "met")
    links = tables.links.filter(tables.links.target_page.notnull())
    return links.group_by(page="target_page").agg(met=links.count())


def names_of(tables: Tables, ids: Iterable[str], language: str) -> dict[str, tuple[str, ...]]:
    """Label and aliases of entities, the label first, each once."""
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    listed = names.semi_join(entity_table(ids), "entity").select("entity", "kind", "place", "name")
    all_names: dict[str, dict[str, None]] = {}
    ordered = sorted(
        rows(listed), key=lambda r: (r["entity"], r["kind"] != "label", r["place"], r["name"])
    )
    for row in ordered:
        all_names.setdefault(row["entity"], {}).setdefault(row["name"])
    return {entity: tuple(spellings) for entity, spellings in all_names.items()}


def bearers_of(tables: Tables, keys: Iterable[str], language: str, frequency: Frequency) -> Bearers:
    """All entities that bear one of the names (by `name_key`) as label or alias."""
    import ibis

    wanted = ibis.memtable(pa.table({"key": pa.array(sorted(set(keys)), pa.string())}))
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    borne = names.semi_join(wanted, "key").select("key", "entity").distinct()
    by_key: dict[str, set[str]] = {}
    for row in rows(borne):
        by_key.setdefault(row["key"], set()).add(row["entity"])
    entities = borne.select("entity").distinct()
    types = tables.entities.semi_join(entities, "entity").select("entity", "types")
    return Bearers(
        {key: tuple(sorted(members)) for key, members in by_key.items()},
        {row["entity"]: frozenset(row["types"] or ()) for row in rows(types)},
        subjects(tables, entities, frequency),
    )


def types_with(tables: Tables, facts: Table) -> dict[str, frozenset[str]]:
    """For each relation the types whose members have it."""
    entities = tables.entities.select("entity", "types")
    having = facts.select("entity", "property").distinct().inner_join(entities, "entity")
    all_types: dict[str, set[str]] = {}
    spread = having.select("property", type=having.types.unnest()).distinct()
    for row in rows(spread):
        all_types.setdefault(row["property"], set()).add(row["type"])
    return {relation: frozenset(types) for relation, types in all_types.items()}


def entity_table(ids: Iterable[str]) -> Table:
    import ibis

    return ibis.memtable(pa.table({"entity": pa.array(sorted(set(ids)), pa.string())}))
