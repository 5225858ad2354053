"""Facts that two or more bearers of a name have: the ones AmbER throws away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from whichone.papers.ambigdocs.bearers import SurfaceName

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Tables

NOT_ASKED = ("P31", "P279", "P1889", "P1343", "P373", "P910")
"""Types, and properties that say how Wikimedia files a thing, not what it is."""
KINDS = ("entity", "quantity", "time", "string", "monolingual")


_FACTS = pa.schema(
    [(name, pa.string()) for name in ("key", "page", "property", "kind", "value", "unit")]
    + [("precision", pa.int8()), ("rank", pa.string()), ("nth", pa.int32())]
)


class BearerPage(msgspec.Struct, frozen=True):
    """A bearer as its page shows it."""

    page: str
    title: str
    entity: str
    popularity: float | None = None


def bearer_table(tables: Tables, names: Sequence[SurfaceName]) -> Table:
    """Names and their pages as a relation: key, page, listed (its place)."""
    pairs = [(n.key, page, place) for n in names for place, page in enumerate(n.pages)]
    columns = list(zip(*pairs, strict=True)) if pairs else [(), (), ()]
    table = pa.table(
        {
            "key": pa.array(columns[0], pa.string()),
            "page": pa.array(columns[1], pa.string()),
            "listed": pa.array(columns[2], pa.int32()),
        }
    )
    return tables.engine.table(table)


def bearer_pages(tables: Tables, bearers: Table) -> dict[str, BearerPage]:
    """Every bearer's page, entity and popularity (page views, else sitelinks, else unknown)."""
    pages = tables.pages.semi_join(bearers, "page").select("page", "title", "entity")
    views = tables.views.group_by("title").agg(views=tables.views.views.sum())
    links = tables.entities.select("entity", "sitelinks")
    known = pages.left_join(views, "title").select("page", "title", "entity", "views")
    known = known.left_join(links, "entity").select("page", "title", "entity", "views", "sitelinks")
    knowns = list(tables.rows(known))
    by_views = any(row["views"] is not None for row in knowns)
    return {
        row["page"]: BearerPage(
            row["page"],
            row["title"],
            row["entity"],
            _number(row["views"] or 0 if by_views else row["sitelinks"]),
        )
        for row in knowns
    }


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)


def shared_facts(tables: Tables, bearers: Table, properties: Sequence[str] = ()) -> pa.Table:
    """Facts of a name's bearers whose property at least two of them have, ordered by page."""
    facts = tables.facts
    facts = facts.filter(facts["rank"] != "deprecated", facts.kind.isin(KINDS))
    if properties:
        facts = facts.filter(facts["property"].isin(list(properties)))
    else:
        facts = facts.filter(facts["property"].notin(NOT_ASKED))
    pages = tables.pages.select("page", "entity")
    borne = bearers.inner_join(pages, "page").inner_join(facts, "entity")
    counted = borne.group_by(["key", "property"]).agg(having=borne.entity.nunique())
    several = counted.filter(counted.having >= 2).select("key", "property")
    kept = borne.semi_join(several, ["key", "property"])
    columns = ("property", "kind", "value", "unit", "precision", "rank")
    batches = tables.engine.batches(kept.select("key", "page", *columns, nth=kept["place"]))
    table = pa.Table.from_batches(batches, schema=_FACTS)
    order = ("page", "key", "property", "nth", "kind", "value")
    return table.sort_by([(column, "ascending") for column in order])


def value_labels(tables: Tables, ids: Sequence[str], language: str) -> dict[str, tuple[str, ...]]:
    """Names of the entities that are values, the label first, aliases in their order."""
    wanted = tables.engine.table(pa.table({"entity": pa.array(sorted(set(ids)), pa.string())}))
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    labels: dict[str, dict[str, None]] = {}
    listed = names.semi_join(wanted, "entity").select("entity", "place", "name")
    for row in tables.rows(listed.order_by("entity", "place", "name")):
        labels.setdefault(row["entity"], {}).setdefault(row["name"])
    return {entity: tuple(names) for entity, names in labels.items()}


def value_types(tables: Tables, ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """The types of the entities that are values."""
    wanted = tables.engine.table(pa.table({"entity": pa.array(sorted(set(ids)), pa.string())}))
    known = tables.entities.semi_join(wanted, "entity").select("entity", "types")
    return {row["entity"]: frozenset(row["types"] or ()) for row in tables.rows(known)}


def count_groups(facts: pa.Table) -> int:
    """How many properties of names there are among facts."""
    return int(facts.group_by(["key", "property"]).aggregate([]).num_rows)


def property_labels(tables: Tables) -> Mapping[str, str]:
    return {
        row["property"]: row["label"]
        for row in tables.rows(tables.properties.select("property", "label"))
        if row["label"]
    }
