"""From sets to distinguishing facts as relations, and the pipeline that keeps each under its name."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whichone.knowledge.engines import Engine, Tables
from whichone.knowledge.formats.kilt_source import UNNAMED
from whichone.papers.amber import names
from whichone.papers.amber.collection import Collection, Popularity
from whichone.papers.amber.rules import Rules

if TYPE_CHECKING:
    from ibis.expr.types import Table


def used_namings(namings: Table, tables: Tables, rules: Rules) -> Table:
    """The namings by a bearer's label, and those that a share of the links to the bearer use."""
    linked = tables.names.filter(tables.names.kind == "anchor")
    linked = linked.semi_join(namings, linked.entity == namings.bearer)
    called = linked.name if rules.same_name == "exact" else linked.key
    links = linked.select(linked=linked.entity, called=called, times=linked["count"])
    totals = links.group_by("linked").agg(total=links.times.sum())
    times = links.group_by(["linked", "called"]).agg(times=links.times.sum())
    shares = times.inner_join(totals, "linked")
    enough = shares.filter(shares.times >= rules.min_name_share * shares.total)
    labels = tables.names.filter(tables.names.kind == "label")
    labelled = labels.name if rules.same_name == "exact" else labels.key
    own = labels.select(linked=labels.entity, called=labelled)
    kept = enough.select("linked", "called").union(own)
    return namings.semi_join(kept, [namings.bearer == kept.linked, namings.grouped == kept.called])


USERS = ("P3095", "P1535")
"""Practised by, used by: the released program takes their names as further answers."""
CANDIDATE_FALSE_VALUES = 200
"""How many of a property's most frequent values are looked at for a false claim."""


def usable(facts: Table, rules: Rules) -> Table:
    """Facts whose value can be an answer: items and quantities, and other kinds where rules allow."""
    item = (facts.kind == "entity") & facts.value.startswith("Q")
    kinds = (
        ["quantity", "string", "monolingual", "time"] if rules.other_value_kinds else ["quantity"]
    )
    if rules.other_value_kinds:
        item = facts.kind == "entity"
    kept = facts.filter(item | facts.kind.isin(kinds))
    return kept if rules.deprecated_facts else kept.filter(kept["rank"] != "deprecated")


def bearer_facts(facts: Table, bearers: Table, collection: Collection) -> Table:
    """Facts of the sets' bearers with a property of the collection.

    `listed` says whether the property is one of those of the bearer's own types.
    """
    import ibis

    wanted = collection.property_ids
    if collection.qualifier:
        wanted = (*wanted, collection.qualifier)
    facts = facts.filter(facts["property"].isin(wanted))
    facts = facts.select("entity", "property", "kind", "value", "unit", "place")
    who = bearers.select("grouped", "entity", "position", "kinds")
    joined = who.inner_join(facts, "entity")
    listed = ibis.or_(
        *(
            names.of_kind(joined.kinds, n) & joined["property"].isin(t.properties)
            for n, t in enumerate(collection.types.values())
        )
    )
    return joined.mutate(listed=listed).drop("kinds")


def shared_properties(bearer_facts: Table) -> Table:
    """Properties that two or more bearers of a name have: they tell nobody apart.

    `bearer_facts` must have been computed: given all joins at once, an engine may begin with the one
    on the property.
    """
    ends = bearer_facts.group_by(["grouped", "property"]).agg(
        low=bearer_facts.position.min(), high=bearer_facts.position.max()
    )
    return ends.filter(ends.low != ends.high).select("grouped", "property")


def distinguishing_facts(bearer_facts: Table, shared: Table) -> Table:
    """Facts whose property is listed for the bearer's type and had by no other bearer of the set."""
    listed = bearer_facts.filter(bearer_facts.listed)
    return listed.anti_join(shared, ["grouped", "property"])


def qualifiers(bearer_facts: Table, prop: str) -> Table:
    """The bearers whose qualifier no other bearer of the name has, with its first such value."""
    held = bearer_facts.filter(bearer_facts["property"] == prop)
    ends = held.group_by(["grouped", "kind", "value"]).agg(
        low=held.position.min(), high=held.position.max(), place=held.place.min()
    )
    own = ends.filter(ends.low == ends.high)
    return own.group_by(["grouped", "low"]).agg(
        kind=own.kind.argmin(own.place), value=own.value.argmin(own.place)
    )


def qualified_facts(bearer_facts: Table, qualifiers: Table, prop: str) -> Table:
    """Facts of bearers that their qualifier tells apart, whoever else has the property."""
    facts = bearer_facts.filter(bearer_facts.listed, bearer_facts["property"] != prop)
    qualified = qualifiers.select("grouped", position="low")
    return facts.semi_join(qualified, ["grouped", "position"])


def value_counts(facts: Table, collection: Collection) -> Table:
    """The most frequent values of each property in the whole knowledge base, the most frequent first."""
    import ibis

    facts = facts.filter(facts["property"].isin(collection.property_ids))
    counted = facts.group_by(["property", "kind", "value"]).agg(times=facts.count())
    order = [ibis.desc(counted.times), counted.value]
    ranked = counted.mutate(
        frequency_rank=ibis.row_number().over(group_by="property", order_by=order)
    )
    return ranked.filter(ranked.frequency_rank < CANDIDATE_FALSE_VALUES)


def _unnamed(pages: Table) -> Any:
    """Whether a page comes from a record of KILT that does not say which entity it is about."""
    return pages.history.contains(f'"{UNNAMED}":true').fill_null(False)


class Pipeline:
    """The named relations of one build: each is computed once, and can be printed, counted, sampled."""

    def __init__(
        self,
        engine: Engine,
        tables: Tables,
        collection: Collection,
        rules: Rules,
        *,
        popularity: Popularity,
        language: str = "en",
    ) -> None:
        self.engine = engine
        self.tables = tables
        self.collection = collection
        self.rules = rules
        self.popularity = popularity
        self.language = language
        self.relations: dict[str, Table] = {}
        self.every_set = False  # go on with names that cannot become a set, to explain why

    def keep(self, name: str, relation: Table) -> Table:
        """Compute a relation now and keep it under its name."""
        kept = self.engine.keep(name, relation)
        self.relations[name] = kept
        return kept

    def run(self, only: str | None = None) -> None:
        """All relational steps, for every name or for one."""
        tables, rules, collection = self.tables, self.rules, self.collection
        naming = names.naming(tables, rules, self.language)
        if only is not None:
            from whichone.names import name_key

            key = only if rules.same_name == "exact" else name_key(only)
            naming = naming.filter(naming.grouped == key)
        repeated = self.keep("repeated_names", names.repeated_names(naming))
        namings = self.keep("namings", names.namings(naming, repeated, rules))
        if rules.min_name_share:
            namings = self.keep("used_namings", used_namings(namings, tables, rules))
        named = self.keep("named_entities", names.typed_entities(tables, collection, namings))
        people = names.population(tables, named, self.popularity)
        known = self.keep("known_bearers", names.known_bearers(namings, people))
        if self.popularity == "none":
            passed = leads = self.keep("leads", names.unranked(names.shared_names(known)))
        else:
            leads = self.keep("leads", names.leads(known, rules))
            passed = names.gap_filter(leads, rules)
        shared = leads.select("grouped")
        self.relations["shared_names"] = shared  # these two are computed where they are asked for
        self.relations["bearers"] = names.bearers(known, shared)
        sets = self.keep("set_bearers", names.set_bearers(known, passed))
        facts = usable(tables.facts, rules)
        owned = self.keep("bearer_facts", bearer_facts(facts, sets, collection))
        if collection.qualifier:
            qualifier_rows = self.keep("qualifiers", qualifiers(owned, collection.qualifier))
            asking = qualified_facts(owned, qualifier_rows, collection.qualifier)
        else:
            held = self.keep("shared_properties", shared_properties(owned))
            asking = distinguishing_facts(owned, held)
        self.keep("distinguishing_facts", asking)
        if rules.false_value == "knowledge base":
            self.keep("value_counts", value_counts(facts, collection))

    def population(self) -> Table:
        """All entities that have a popularity."""
        everyone = names.typed_entities(self.tables, self.collection)
        return names.population(self.tables, everyone, self.popularity)

    def count(self, name: str) -> int:
        return self.number(self.relations[name].count())

    def number(self, expression: Any) -> int:
        """One number that an expression stands for."""
        return int(self.engine.value(expression) or 0)

    def pages(self) -> Table:
        """The pages that may be evidence.

        A knowledge base also knows a page's entity by its title. The released program goes by what
        the page's own record says, where records say anything.
        """
        pages = self.tables.pages
        if not self.rules.disambiguation_pages:
            pages = pages.filter(pages.kind == "article")
        if self.rules.name == "published" and self._records_name_entities:
            pages = pages.filter(~_unnamed(pages))
        return pages

    @functools.cached_property
    def _records_name_entities(self) -> bool:
        pages = self.tables.pages
        return self.number(pages.filter(~_unnamed(pages)).limit(1).count()) > 0

    def tuples(self, relation: Table) -> Iterator[tuple[Any, ...]]:
        """Rows of a relation as tuples, a batch at a time."""
        for batch in self.engine.batches(relation):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
