"""Drawn facts as queries, with their namesakes and whether anyone could have known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from whichone.benchmarks.relations import Relation
from whichone.names import name_key
from whichone.papers.entityquestions.draw import Drawn
from whichone.papers.entityquestions.fact import EntityFact
from whichone.papers.entityquestions.files import TASK
from whichone.papers.entityquestions.knowledge import Bearers
from whichone.papers.entityquestions.resolvable import OtherBearer, resolution
from whichone.records import Bearer, NameSet, Output, Provenance, Query, passage_id

Having = Mapping[str, Collection[str]]
"""For each relation the entities that have it."""


def name_sets(bearers: Bearers) -> dict[str, NameSet]:
    """Names with two or more bearers that have an article, by name key; the most frequent is head."""
    sets = {}
    for key, entities in sorted(bearers.by_key.items()):
        members = [bearers.subjects[e] for e in entities if e in bearers.subjects]
        if len(members) < 2:
            continue
        members.sort(key=lambda s: (-(s.frequency or 0.0), s.entity))
        sets[key] = NameSet(
            id=f"name:{key}",
            name=min(m.label for m in members if name_key(m.label) == key)
            if any(name_key(m.label) == key for m in members)
            else key,
            collection=TASK,
            bearers=tuple(
                Bearer(
                    entity=m.entity,
                    label=m.label,
                    role="tail" if rank else "head",
                    popularity=m.frequency,
                    types=tuple(sorted(bearers.types.get(m.entity, ()))),
                    pages=(m.page,),
                )
                for rank, m in enumerate(members)
            ),
        )
    return sets


class QueryMaker:
    """Makes queries of drawn facts; what it knows of names is the same for all."""

    def __init__(
        self,
        relations: Mapping[str, Relation],
        bearers: Bearers,
        having: Having,
        types_with_relation: Mapping[str, frozenset[str]],
        *,
        reworded: bool = False,
        language: str = "en",
    ) -> None:
        self.language = language
        self.relations = relations
        self.bearers = bearers
        self.having = having
        self.types_with_relation = types_with_relation
        self.reworded = reworded
        self.sets = name_sets(bearers)

    def queries(self, drawn: Sequence[Drawn]) -> list[Query]:
        return [self._query(item) for item in drawn]

    def used_sets(self, queries: Sequence[Query]) -> list[NameSet]:
        """The name sets the queries belong to."""
        used = {query.name_set for query in queries}
        return [name_set for name_set in self.sets.values() if name_set.id in used]

    def _query(self, drawn: Drawn) -> Query:
        fact = drawn.fact
        name_set = self.sets.get(name_key(fact.name))
        roles = {b.entity: b.role for b in name_set.bearers} if name_set else {}
        known = resolution(self._others(fact), self.types_with_relation.get(fact.relation, ()))
        return Query(
            id=f"{fact.relation}-{fact.subject}",
            task=TASK,
            input=self.relations[fact.relation].ask(fact.name, reworded=self.reworded),
            outputs=_outputs(fact),
            language=self.language,
            name=fact.name,
            name_set=name_set.id if name_set else None,
            role=roles.get(fact.subject),
            relation=fact.relation,
            entity=fact.subject,
            attributes={
                "split": drawn.split,
                "rand_ent": drawn.rand_ent,
                "train_ent": drawn.train_ent,
                "bucket": drawn.bucket,
                "frequency": fact.frequency,
                "objects": [o.id for o in fact.objects],
                "shared_name": name_set is not None,
                "resolvable": known.verdict,
                "candidates": known.candidates,
            },
        )

    def _others(self, fact: EntityFact) -> list[OtherBearer]:
        """Every other entity of the name, with an article or without."""
        having = self.having.get(fact.relation, ())
        return [
            OtherBearer(entity, self.bearers.types.get(entity, frozenset()), entity in having)
            for entity in self.bearers.by_key.get(name_key(fact.name), ())
            if entity != fact.subject
        ]


def _outputs(fact: EntityFact) -> tuple[Output, ...]:
    place = passage_id(fact.page, fact.evidence[0]) if fact.evidence else None
    gold = ((Provenance(page=fact.page, title=fact.title, passage=place),),)
    return tuple(
        Output(
            answer=o.label,
            aliases=o.aliases,
            entity=fact.subject,
            provenance=gold,
            attributes={"object": o.id},
        )
        for o in fact.objects
    )
