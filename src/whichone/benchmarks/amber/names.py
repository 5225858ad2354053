"""From names to sets as relations: who shares a name, who is the head, is the gap wide enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whichone.benchmarks.amber.collection import Collection, Popularity
from whichone.benchmarks.amber.rules import Rules

if TYPE_CHECKING:
    from ibis.expr.types import BooleanValue, Table

SLACK = 1e-9
"""Engines may differ in the last bit of a logarithm; the exact test is made in Python afterwards."""


class Tables(NamedTuple):
    """The tables of a knowledge base as Ibis expressions, whatever engine they live on."""

    entities: Table
    names: Table
    facts: Table
    properties: Table
    pages: Table
    views: Table
    links: Table


def population(
    tables: Tables, collection: Collection, popularity: Popularity, among: Table | None = None
) -> Table:
    """Every entity that can be a bearer, with its popularity and if its type is in the collection.

    `among`, a table with a column `bearer`, says which entities are of interest.
    """
    if among is not None:
        wanted = tables.entities.semi_join(among, tables.entities.entity == among.bearer)
        tables = tables._replace(entities=wanted)
    known = _with_popularity(tables, popularity)
    typed = has_type(known.types, collection).fill_null(False)
    return known.select("entity", "position", "types", "label", "popularity", typed=typed)


def has_type(types: Any, collection: Collection) -> BooleanValue:
    """Whether a list of types holds one of the collection's."""
    import ibis

    return ibis.or_(*(types.contains(t.id) for t in collection.types.values()))


def _with_popularity(tables: Tables, popularity: Popularity) -> Table:
    import ibis

    entities = tables.entities
    if popularity == "none":
        return entities.mutate(popularity=ibis.null("float64"))
    if popularity == "sitelinks":
        return entities.filter(entities.sitelinks > 0).mutate(
            popularity=entities.sitelinks.cast("float64")
        )
    if popularity == "links":
        pages = tables.pages.select("page", about=tables.pages.entity)
        linked = tables.links.inner_join(pages, tables.links.target_page == pages.page)
        counted = linked.group_by("about").agg(popularity=linked.count().cast("float64"))
        return entities.inner_join(counted, entities.entity == counted.about)
    views = tables.views.group_by(viewed="title").agg(
        popularity=tables.views.views.sum().cast("float64")
    )
    return entities.inner_join(views, entities.title == views.viewed)


def naming(tables: Tables, rules: Rules, language: str) -> Table:
    """Every label and alias of the language: `grouped` is what must be equal to be one name."""
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    grouped = names.name if rules.same_name == "exact" else names.key
    return names.select(grouped=grouped, name=names.name, bearer=names.entity, place=names.place)


def repeated_names(names: Table) -> Table:
    """Names that occur more than once: the one step that looks at every name."""
    counted = names.group_by("grouped").agg(times=names.count())
    return counted.filter(counted.times > 1).select("grouped")


def namings(names: Table, repeated: Table) -> Table:
    """Who bears a repeated name, each bearer once with its own spelling of it."""
    borne = names.semi_join(repeated, "grouped")
    return borne.group_by(["grouped", "bearer"]).agg(name=borne.name.argmin(borne.place))


def shared_names(namings: Table, people: Table) -> Table:
    """Names with two or more typed bearers: the first and the last of them are not the same."""
    typed = people.filter(people.typed).select("entity", "position")
    borne = namings.select("grouped", "bearer").inner_join(typed, namings.bearer == typed.entity)
    ends = borne.group_by("grouped").agg(first=borne.position.min(), last=borne.position.max())
    return ends.filter(ends.first != ends.last).select("grouped")


def bearers(namings: Table, shared: Table, people: Table) -> Table:
    """All bearers of the shared names, typed or not."""
    borne = namings.semi_join(shared, "grouped")
    return borne.inner_join(people, borne.bearer == people.entity).drop("bearer")


def leads(bearers: Table, rules: Rules) -> Table:
    """For each name the popularity of its two most popular typed bearers, and that of a head."""
    import ibis

    best = bearers.group_by("grouped").agg(top=bearers.popularity.max())
    typed = bearers.filter(bearers.typed)
    order = [ibis.desc(typed.popularity), typed.position]
    placed = typed.mutate(rank=ibis.row_number().over(group_by="grouped", order_by=order))
    two = placed.filter(placed["rank"] < 2)
    pair = two.group_by("grouped").agg(first=two.popularity.max(), second=two.popularity.min())
    both = pair.inner_join(best, "grouped")
    top = both.top if rules.head_among == "all" else both.first
    return both.select("grouped", "first", "second", top=top)


def unranked(shared: Table) -> Table:
    """Leads of names in a knowledge base without popularity: nobody is first."""
    import ibis

    nothing = ibis.null("float64")
    return shared.mutate(first=nothing, second=nothing, top=nothing)


def gap_filter(leads: Table, rules: Rules) -> Table:
    """Names whose head leads by the gap; a hair less is let through here and tested exactly later."""
    import ibis

    first, second = leads.first, leads.second
    if rules.gap_scale == "log10":
        first, second = first.log10(), second.log10()
    below = second if rules.gap_denominator == "tail" else (first + second) / 2
    gap = ibis.cases((below > 0, (first - second) / below), (first > second, 1e308), else_=0.0)
    return leads.filter(gap >= rules.gap - SLACK)


def set_bearers(bearers: Table, leads: Table) -> Table:
    """The typed bearers of the names that passed; a head is as popular as `top`."""
    joined = bearers.filter(bearers.typed).inner_join(leads, "grouped")
    return joined.select(
        "grouped", "name", "entity", "position", "types", "label", "popularity", "first", "second",
        is_head=(joined.popularity == joined.top).fill_null(False),
    )  # fmt: skip
