"""`--properties auto`: which properties tell a type's entities apart, found in the knowledge base.

A property is taken when it is selective (few entities of the type have it) and its values appear at
the beginning of their entities' pages. That no other bearer of a name has it is seen set by set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from whichone.errors import BadInput
from whichone.papers.amber import distinguishing
from whichone.papers.amber.alignment import amount_name, beginning, needle, plain_time
from whichone.papers.amber.collection import Collection, EntityType
from whichone.papers.amber.distinguishing import Pipeline, usable
from whichone.progress import talk
from whichone.records import grouped

if TYPE_CHECKING:
    from ibis.expr.types import Table


class Choice(msgspec.Struct, frozen=True):
    type: str
    property: str
    entities: int
    share: float
    stated: float | None
    taken: bool


def with_properties(pipeline: Pipeline, wanted: Sequence[str]) -> Collection:
    """The collection with the named properties for all its types, or with those found by `auto`."""
    if tuple(wanted) == ("auto",):
        collection, choices = choose_properties(pipeline)
        looked_at = Counter(choice.type for choice in choices)
        for key, entity_type in collection.types.items():
            talk(
                f"{key}: {len(entity_type.properties)} of {looked_at[key]} properties are selective and stated: "
                f"{', '.join(entity_type.properties) or 'none'}"
            )
        return collection
    types = {
        key: msgspec.structs.replace(entity_type, properties=tuple(wanted))
        for key, entity_type in pipeline.collection.types.items()
    }
    return msgspec.structs.replace(pipeline.collection, types=types)


def choose_properties(pipeline: Pipeline) -> tuple[Collection, list[Choice]]:
    """The collection with properties of its types' own, and what was looked at."""
    collection = pipeline.collection
    typed = distinguishing.typed_entities(pipeline.tables, collection)
    pages = pipeline.pages()
    typed = typed.semi_join(pages, typed.entity == pages.entity).select("entity", "kinds")
    facts = usable(pipeline.tables.facts, pipeline.rules)
    properties = pipeline.tables.properties  # those that have a label, and values that can be answers
    answers = ["", "wikibase-item", "quantity", "time", "string", "monolingualtext"]
    answerable = properties.datatype.isnull() | properties.datatype.isin(answers)
    known = properties.filter(properties.label.notnull(), answerable)
    wanted = {p for (p,) in pipeline.tuples(known.select("property"))}
    facts = facts.filter(facts["property"].isin(sorted(wanted | pipeline.collection.properties.keys())))
    owned = pipeline.keep(
        "typed_facts",
        facts.inner_join(typed, "entity").select("entity", "kinds", "property", "kind", "value", "place"),
    )
    choices: list[Choice] = []
    types: dict[str, EntityType] = {}
    for n, (key, entity_type) in enumerate(collection.types.items()):
        size = pipeline.number(typed.filter(distinguishing.of_kind(typed.kinds, n)).count())
        own = owned.filter(distinguishing.of_kind(owned.kinds, n))
        counts = dict(pipeline.tuples(own.group_by("property").agg(entities=own.entity.nunique())))
        # A property that more than half of a type's entities have tells few of them apart.
        few = sorted(p for p, count in counts.items() if 5 <= count <= 0.5 * size)
        stated = _stated(pipeline, own, few)
        rows = [
            Choice(
                type=key,
                property=p,
                entities=count,
                share=count / size,
                stated=stated.get(p),
                taken=stated.get(p, 0.0) >= 0.25,
            )
            for p, count in sorted(counts.items())
        ]
        choices += rows
        taken = tuple(row.property for row in rows if row.taken and row.property != collection.qualifier)
        types[key] = EntityType(id=entity_type.id, properties=taken, label=entity_type.label)
    chosen = msgspec.structs.replace(collection, types=types)
    if not chosen.property_ids:
        raise BadInput(
            f"no property is selective and stated in the pages ({len(choices)} were looked at)",
            hint="list properties in the collection, or give it a qualifier",
        )
    return chosen, choices


def _stated(pipeline: Pipeline, facts: Table, few: list[str]) -> dict[str, float]:
    """For each property the share of entities, the first 100 by id, whose page states one of its values."""
    import ibis

    if not few:
        return {}
    facts = facts.filter(facts["property"].isin(few))
    who = facts.select("property", "entity").distinct()
    placed = who.mutate(n=ibis.row_number().over(group_by="property", order_by="entity"))
    chosen = placed.filter(placed.n < 100).select("property", "entity")
    chosen_facts = facts.semi_join(chosen, ["property", "entity"])
    rows = list(pipeline.tuples(chosen_facts.select("property", "entity", "kind", "value")))
    values = pipeline.names_of(chosen_facts.filter(chosen_facts.kind == "entity"), "value")
    pages = pipeline.pages()
    pages = pages.filter(pages.entity.isin(sorted({entity for _, entity, _, _ in rows})))
    texts = grouped(
        (entity, beginning(" ".join(paragraphs or ()), pipeline.rules.tokens))
        for entity, paragraphs in pipeline.tuples(pages.select("entity", "paragraphs"))
    )
    stated: dict[str, dict[str, bool]] = {}
    for prop, entity, kind, value in rows:
        shown = {"quantity": amount_name, "time": plain_time}.get(kind, str)(value)
        names = values.get(value, []) if kind == "entity" else [shown]
        looked_for = [wanted for name in names if (wanted := needle(name, pipeline.rules)) is not None]
        hit = any(wanted in text for wanted in looked_for for text in texts.get(entity, ()))
        seen = stated.setdefault(prop, {})
        seen[entity] = seen.get(entity, False) or hit
    return {prop: sum(seen.values()) / len(seen) for prop, seen in stated.items()}
