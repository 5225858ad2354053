"""Which relations are worth asking about: section 3 of the paper, as numbers.

The paper takes relations with more than 2,000 triples that do not have just a few possible answers
(such as gender). Whether a clear question can be asked is a matter of the relations' file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from whichone.papers.entityquestions.fact import EntityFact

LEAST_FACTS = 2000
LEAST_ANSWERS = 10


class RelationCount(msgspec.Struct, frozen=True):
    """What a relation offers; `kept` or the reason why not."""

    relation: str
    label: str
    facts: int
    answers: int
    commonest_answer: str | None
    commonest_share: float
    kept: bool
    reason: str = ""


def relation_counts(
    facts: Iterable[EntityFact],
    labels: Mapping[str, str],
    *,
    least_facts: float = LEAST_FACTS,
    least_answers: int = LEAST_ANSWERS,
) -> list[RelationCount]:
    """Every relation of `labels` with its numbers and the verdict.

    `least_facts` of 1 or more is a number of facts to be exceeded; below 1 it is a share of all facts.
    """
    grouped: dict[str, list[EntityFact]] = {relation: [] for relation in labels}
    for fact in facts:
        grouped[fact.relation].append(fact)
    total = sum(map(len, grouped.values()))
    least = least_facts if least_facts >= 1 else least_facts * total
    return [
        _count(relation, labels[relation], members, least, least_answers)
        for relation, members in grouped.items()
    ]


def _count(
    relation: str, label: str, facts: Sequence[EntityFact], least_facts: float, least_answers: int
) -> RelationCount:
    objects = Counter(o.id for fact in facts for o in fact.objects)
    names = {o.id: o.label for fact in facts for o in fact.objects}
    common = min(objects, key=lambda o: (-objects[o], o), default=None)
    reasons = []
    if len(facts) <= least_facts:
        reasons.append(f"{len(facts)} facts, not more than {least_facts:g}")
    if len(objects) < least_answers:
        reasons.append(f"{len(objects)} different answers, fewer than {least_answers}")
    return RelationCount(
        relation=relation,
        label=label,
        facts=len(facts),
        answers=len(objects),
        commonest_answer=names[common] if common else None,
        commonest_share=objects[common] / sum(objects.values()) if common else 0.0,
        kept=not reasons,
        reason="; ".join(reasons),
    )
