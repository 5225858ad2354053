"""The names of values: what may appear in a page, and what counts as an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from whichone.papers.amber import names
from whichone.papers.amber.model import Value
from whichone.papers.amber.published import amount_name, number_words
from whichone.papers.amber.relations import USERS, Pipeline

if TYPE_CHECKING:
    from ibis.expr.types import Table


class ValueNames(msgspec.Struct):
    """Names, types and users' names of one entity that is a value."""

    names: list[str] = []
    types: tuple[str, ...] = ()
    extra: set[str] = set()


class ValueBook:
    """All values that a build needs, by entity id."""

    def __init__(
        self, entities: dict[str, ValueNames], *, extra_answers: bool, signs: bool = False
    ) -> None:
        self._entities = entities
        self._extra_answers = extra_answers
        self._signs = signs

    def value(self, kind: str, value: str, unit: str | None = None) -> Value | None:
        """A fact's value with its names; None for an entity without any."""
        if kind == "entity":
            known = self._entities.get(value)
            if known is None or not known.names:
                return None
            return Value(
                kind=kind,
                value=value,
                names=tuple(known.names),
                types=known.types,
                extra=tuple(sorted(known.extra)),
            )
        if kind == "quantity":
            extra = number_words(value) if self._extra_answers else ()
            name = value.removeprefix("+") if self._signs else amount_name(value)
            return Value(kind=kind, value=value, unit=unit, names=(name,), extra=extra)
        shown = plain_time(value) if kind == "time" else value
        return Value(kind=kind, value=value, names=(shown,))


def plain_time(value: str) -> str:
    """A point in time as a page may state it: Wikidata's form without sign, clock and empty parts."""
    day = value.lstrip("+").partition("T")[0]
    return day.removesuffix("-00").removesuffix("-00")


def value_book(pipeline: Pipeline) -> ValueBook:
    """Names of every entity that is a value of a distinguishing fact or a candidate for a false claim."""
    wanted = _wanted(pipeline)
    entities: dict[str, ValueNames] = {}
    naming = names.naming(pipeline.tables, pipeline.rules, pipeline.language)
    borne = naming.semi_join(wanted, naming.bearer == wanted.value)
    if pipeline.rules.value_needs_views and pipeline.popularity != "none":
        people = pipeline.population()
        borne = borne.semi_join(people, borne.bearer == people.entity)
    borne = borne.select("bearer", "place", "name").order_by("bearer", "place", "name")
    for entity, _, name in pipeline.tuples(borne):
        if entity not in entities:
            entities[entity] = ValueNames(names=[], extra=set())
        entities[entity].names.append(name)
    about = pipeline.tables.entities
    typed = about.semi_join(wanted, about.entity == wanted.value).select("entity", "types")
    for entity, types in pipeline.tuples(typed):
        if entity in entities:
            entities[entity].types = tuple(types or ())
    if pipeline.rules.extra_answers:
        _add_users(pipeline, wanted, entities)
    rules = pipeline.rules
    return ValueBook(entities, extra_answers=rules.extra_answers, signs=rules.name == "paper")


def _wanted(pipeline: Pipeline) -> Table:
    facts = pipeline.relations["distinguishing_facts"]
    values = facts.filter(facts.kind == "entity").select("value")
    if "qualifiers" in pipeline.relations:
        qualifier_rows = pipeline.relations["qualifiers"]
        values = values.union(
            qualifier_rows.filter(qualifier_rows.kind == "entity").select("value")
        )
    if "value_counts" in pipeline.relations:
        counted = pipeline.relations["value_counts"]
        values = values.union(counted.filter(counted.kind == "entity").select("value"))
    return pipeline.keep("wanted_values", values.distinct())


def _add_users(pipeline: Pipeline, wanted: Table, entities: dict[str, ValueNames]) -> None:
    """Names of those who practise or use a value: a guitarist for the guitar."""
    facts = pipeline.tables.facts
    uses = facts.filter(facts["property"].isin(USERS), facts.kind == "entity")
    uses = uses.semi_join(wanted, uses.entity == wanted.value)
    uses = uses.select(used="entity", user="value")
    naming = names.naming(pipeline.tables, pipeline.rules, pipeline.language)
    if pipeline.popularity != "none":
        people = pipeline.population()
        naming = naming.semi_join(people, naming.bearer == people.entity)
    named = uses.inner_join(naming, uses.user == naming.bearer).select("used", "name")
    for used, name in pipeline.tuples(named):
        if used in entities:
            entities[used].extra.add(name)
