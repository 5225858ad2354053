"""Which facts a relation's question fits: no music that a novel plays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
import pyarrow as pa

from whichone.benchmarks.relations import Account, Relation
from whichone.papers.entityquestions import knowledge
from whichone.papers.entityquestions.fact import EntityFact

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables

Wording = Literal["clean", "published"]
SUBCLASS_OF = "P279"


def facts_that_fit(
    tables: Tables,
    facts: Sequence[EntityFact],
    relations: Mapping[str, Relation],
    account: Account,
) -> list[EntityFact]:
    """Facts whose subject is of a type that the question may be asked of, with the answers that fit it.

    Where a knowledge base does not know a type, nothing speaks against the question.
    """
    narrow = {key: r for key, r in relations.items() if r.types or r.values}
    asked = [fact for fact in facts if fact.relation in narrow]
    types = _types_of(
        tables, {e for fact in asked for e in (fact.subject, *(o.id for o in fact.objects))}
    )
    listed = {r.types for r in narrow.values()} | {r.values for r in narrow.values()}
    allowed = with_subclasses(tables, sorted(types for types in listed if types))
    step = account.step("the question fits the subject and the answer", "facts")
    kept = []
    for fact in facts:
        fitting = _fitting(fact, narrow.get(fact.relation), types, allowed)
        if fitting is None:
            step.remove(f"{fact.key} {fact.name}")
        else:
            kept.append(fitting)
    step.kept = len(kept)
    return kept


def _fitting(
    fact: EntityFact,
    relation: Relation | None,
    types: Mapping[str, frozenset[str]],
    allowed: Mapping[tuple[str, ...], frozenset[str]],
) -> EntityFact | None:
    if relation is None:
        return fact
    own = types.get(fact.subject)
    if relation.types and own and allowed[relation.types].isdisjoint(own):
        return None
    if not relation.values:
        return fact
    objects = tuple(
        o
        for o in fact.objects
        if not types.get(o.id) or not allowed[relation.values].isdisjoint(types[o.id])
    )
    return msgspec.structs.replace(fact, objects=objects) if objects else None


def _types_of(tables: Tables, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    known = tables.entities.semi_join(knowledge.entity_table(tables, ids), "entity")
    rows = tables.rows(known.select("entity", "types"))
    return {row["entity"]: frozenset(row["types"] or ()) for row in rows}


def with_subclasses(
    tables: Tables, lists: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], frozenset[str]]:
    """Each list of types with everything below them, as far as the knowledge base has subclasses (P279).

    All lists go down a level at a time together: a level is one question to the engine.
    """
    facts = tables.facts
    below = facts.filter(facts["property"] == SUBCLASS_OF, facts["rank"] != "deprecated")
    new = {(number, value) for number, types in enumerate(lists) for value in types}
    reached = set(new)
    while new:
        numbers, values = zip(*sorted(new), strict=True)
        parents = tables.engine.table(
            pa.table({"number": pa.array(numbers, pa.int64()), "value": pa.array(values)})
        )
        down = below.select("entity", "value").inner_join(parents, "value")
        rows = tables.rows(down.select("number", "entity").distinct())
        new = {(row["number"], row["entity"]) for row in rows} - reached
        reached |= new
    return {
        types: frozenset(value for of, value in reached if of == number)
        for number, types in enumerate(lists)
    }
