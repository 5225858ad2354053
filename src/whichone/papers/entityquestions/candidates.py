"""The facts a benchmark may ask for: named objects, a subject with an article, evidence in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from whichone.benchmarks.relations import Account
from whichone.papers.entityquestions.fact import EntityFact, Object
from whichone.papers.entityquestions.knowledge import Subject
from whichone.papers.entityquestions.trex import Triple


def named_facts(
    values: Mapping[tuple[str, str], Sequence[str]],
    names: Mapping[str, Sequence[str]],
    subjects: Mapping[str, Subject],
    account: Account,
    lost: tuple[int, Sequence[str]],
) -> list[EntityFact]:
    """Facts from `values`, the object ids by (relation, subject); `lost` are those without an article.

    Objects without a name in the language are left out; a fact left without objects is too.
    """
    with_page = account.step("subject has a label and an article", "facts")
    with_page.kept, with_page.removed, with_page.examples = len(values), lost[0], [*lost[1]]
    with_names = account.step("an object has a name in the language", "facts")
    facts = []
    for (relation, entity), ids in sorted(values.items()):
        subject = subjects[entity]
        objects = tuple(
            Object(identity, names[identity][0], tuple(names[identity][1:]))
            for identity in dict.fromkeys(ids)
            if names.get(identity)
        )
        if not objects:
            with_names.remove(f"{relation}:{entity}")
            continue
        with_names.kept += 1
        facts.append(
            EntityFact(
                subject=entity,
                name=subject.label,
                relation=relation,
                objects=objects,
                page=subject.page,
                title=subject.title,
                frequency=subject.frequency,
            )
        )
    return facts


def stated_on_page(
    facts: Sequence[EntityFact], evidence: Mapping[str, Sequence[int]], account: Account
) -> list[EntityFact]:
    """Facts of which an answer appears in a passage of the subject's page, with those passages."""
    step = account.step("an answer stands on the subject's page", "facts")
    kept = []
    for fact in facts:
        if fact.key in evidence:
            kept.append(msgspec.structs.replace(fact, evidence=tuple(evidence[fact.key])))
        else:
            step.remove(f"{fact.key} {fact.name}")
    step.kept = len(kept)
    return kept


def stated_in_trex(
    facts: Sequence[EntityFact], triples: Collection[Triple], account: Account
) -> list[EntityFact]:
    """Facts that T-REx aligns with a sentence, for at least one of their objects."""
    step = account.step("T-REx aligns the fact with a sentence", "facts")
    kept = []
    for fact in facts:
        if any((fact.subject, fact.relation, o.id) in triples for o in fact.objects):
            kept.append(fact)
        else:
            step.remove(f"{fact.key} {fact.name}")
    step.kept = len(kept)
    return kept
