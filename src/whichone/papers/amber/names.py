"""From names to sets as relations: who shares a name, who is the head, is the gap wide enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichone.knowledge.engines import Tables
from whichone.papers.amber.collection import Collection, Popularity
from whichone.papers.amber.rules import Rules

if TYPE_CHECKING:
    from ibis.expr.types import BooleanValue, IntegerValue, Table

SLACK = 1e-9
"""Engines may differ in the last bit of a logarithm; the exact test is made in Python afterwards."""


_OTHER_ALIASES = 1_000_000


def typed_entities(tables: Tables, collection: Collection, among: Table | None = None) -> Table:
    """Entities and their types of the collection, all or those that a column `bearer` names.

    `kinds` has a bit for each of the collection's types, which is cheaper to carry than a list.
    """
    entities = tables.entities.select("entity", "position", "types", "title", "sitelinks")
    if among is not None:
        entities = entities.semi_join(among, entities.entity == among.bearer)
    kinds = sum(
        entities.types.contains(t.id).fill_null(False).cast("int64") * 2**n
        for n, t in enumerate(collection.types.values())
    )
    return entities.select("entity", "position", "title", "sitelinks", kinds=kinds)


def of_kind(kinds: Any, n: int) -> BooleanValue:
    """Whether an entity is of the n-th of the collection's types."""
    return (kinds & 2**n) > 0


def population(tables: Tables, entities: Table, popularity: Popularity) -> Table:
    """The entities that have a popularity, with it: they can be bearers."""
    known = _with_popularity(tables, entities, popularity)
    return known.select("entity", "position", "popularity", "kinds", typed=known.kinds > 0)


def _with_popularity(tables: Tables, entities: Table, popularity: Popularity) -> Table:
    import ibis

    if popularity == "none":
        return entities.mutate(popularity=ibis.null("float64"))
    if popularity == "sitelinks":
        linked = entities.filter(entities.sitelinks > 0)
        return linked.mutate(popularity=linked.sitelinks.cast("float64"))
    if popularity == "links":
        pages = tables.pages.select("page", about=tables.pages.entity)
        pages = pages.semi_join(entities, pages.about == entities.entity)
        links = tables.links.inner_join(pages, tables.links.target_page == pages.page)
        counted = links.group_by("about").agg(popularity=links.count().cast("float64"))
        return entities.inner_join(counted, entities.entity == counted.about)
    views = tables.views.select(viewed="title", views="views")
    joined = entities.inner_join(views, entities.title == views.viewed)
    return joined.group_by("entity").agg(  # by one column: by three it takes twice as long
        position=joined.position.arbitrary(),
        kinds=joined.kinds.arbitrary(),
        popularity=joined.views.sum().cast("float64"),
    )


def naming(tables: Tables, rules: Rules, language: str) -> Table:
    """Every label and alias of the language: `grouped` is what must be equal to be one name.

    The released program takes the language itself only; ours also its variants and "mul", where
    Wikidata keeps names that are the same in all languages.
    """
    names = tables.names
    spoken = names.language == language
    if rules.name == "paper":
        spoken = spoken | names.language.startswith(f"{language}-") | (names.language == "mul")
    names = names.filter(names.kind.isin(["label", "alias"]), spoken)
    grouped = names.name if rules.same_name == "exact" else names.key
    place = _own_first(names, language) if rules.name == "paper" else names.place
    return names.select(grouped=grouped, name=names.name, bearer=names.entity, place=place)


def _own_first(names: Table, language: str) -> IntegerValue:
    """An order of names of several languages: labels, then aliases, the language's own first."""
    import ibis

    own, label = names.language == language, names.kind == "label"
    return ibis.cases(
        (own & label, 0), (label, 1), (own, names.place + 1), else_=names.place + _OTHER_ALIASES
    ).cast("int64")  # fmt: skip


def repeated_names(names: Table) -> Table:
    """Names that occur more than once: the one step that looks at every name."""
    counted = names.group_by("grouped").agg(times=names.count())
    return counted.filter(counted.times > 1).select("grouped")


def namings(names: Table, repeated: Table, rules: Rules) -> Table:
    """Who has a repeated name, each bearer once with its own spelling of it."""
    borne = names.semi_join(repeated, "grouped")
    if rules.same_name == "exact":
        return borne.select("grouped", "bearer", "name").distinct()
    return borne.group_by(["grouped", "bearer"]).agg(name=borne.name.argmin(borne.place))


def known_bearers(namings: Table, people: Table) -> Table:
    """The bearers of repeated names that have a popularity, typed or not."""
    return namings.inner_join(people, namings.bearer == people.entity).drop("bearer")


def shared_names(known: Table) -> Table:
    """Names with two or more typed bearers: the first and the last of them are not the same."""
    typed = known.filter(known.typed)
    ends = typed.group_by("grouped").agg(first=typed.position.min(), last=typed.position.max())
    return ends.filter(ends.first != ends.last).select("grouped")


def bearers(known: Table, shared: Table) -> Table:
    """All bearers of the shared names, typed or not."""
    return known.semi_join(shared, "grouped")


def leads(known: Table, rules: Rules) -> Table:
    """For each shared name the popularity of its two most popular typed bearers, and of a head."""
    typed = known.filter(known.typed)
    held = typed.group_by("grouped").agg(popularity=typed.popularity.collect())
    several = held.filter(held.popularity.length() > 1)
    several = several.mutate(popularity=several.popularity.sort(), n=several.popularity.length())
    ordered, n = several.popularity, several.n
    pair = several.select("grouped", first=ordered[n - 1], second=ordered[n - 2])
    if rules.head_among == "typed":
        return pair.mutate(top=pair.first)
    best = known.group_by("grouped").agg(top=known.popularity.max())
    return pair.inner_join(best, "grouped")


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
        # No views at all count as one: engines refuse the logarithm of nothing.
        first, second = (ibis.greatest(p, 1.0).log10() for p in (first, second))
    below = second if rules.gap_denominator == "tail" else (first + second) / 2
    gap = ibis.cases((below > 0, (first - second) / below), (first > second, 1e308), else_=0.0)
    return leads.filter(gap >= rules.gap - SLACK)


def set_bearers(known: Table, leads: Table) -> Table:
    """The typed bearers of the names that passed; a head is as popular as `top`."""
    joined = known.filter(known.typed).inner_join(leads, "grouped")
    return joined.select(
        "grouped", "name", "entity", "position", "kinds", "popularity", "first", "second",
        is_head=(joined.popularity == joined.top).fill_null(False),
    )  # fmt: skip
