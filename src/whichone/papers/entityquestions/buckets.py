"""Buckets of facts by how often their subject is met, each of about equal summed frequency.

The paper (section 4.1) gives eight buckets of equal cumulative frequency and no more. Our rules:

- order: most frequent subjects first, so bucket 0 contains the most frequent, as in the released files;
- ties: subjects of equal frequency are ordered by their id and may fall on both sides of a boundary;
- boundary: a subject whose frequency crosses one goes where the middle of its stretch is stored;
- zero: a frequency of 0 adds nothing to the sum and falls into the last bucket; when all are 0, all
  are in the last bucket;
- unknown: a subject without a frequency is in no bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from whichone.papers.entityquestions.fact import EntityFact
from whichone.papers.entityquestions.sampling import shuffled

BUCKETS = 8
MOST = 1000


class Triples(msgspec.Struct, frozen=True):
    """All triples of one relation in the knowledge base: how many a subject has, how often it is met."""

    counts: Mapping[str, int]
    frequencies: Mapping[str, float | None]


def buckets_of(
    frequencies: Mapping[str, float | None],
    buckets: int = BUCKETS,
    triples: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The bucket of each subject, 0 the most frequent; a subject counts once for each of its triples."""
    known = {subject: f for subject, f in frequencies.items() if f is not None}
    order = sorted(known, key=lambda subject: (-known[subject], subject))
    if triples is not None:
        known = {subject: f * triples.get(subject, 1) for subject, f in known.items()}
    total = sum(known.values())
    before = 0.0
    bucket_of: dict[str, int] = {}
    for subject in order:
        middle = before + known[subject] / 2
        before += known[subject]
        if known[subject] > 0:
            bucket_of[subject] = min(int(buckets * middle / total), buckets - 1)
        else:
            bucket_of[subject] = buckets - 1
    return bucket_of


def bucketed(
    facts: Iterable[EntityFact], buckets: int = BUCKETS, triples: Triples | None = None
) -> dict[int, list[EntityFact]]:
    """The facts of one relation by bucket; those without a frequency are left out.

    The paper cuts the buckets from all triples of the knowledge base, with evidence or without.
    """
    held = list(facts)
    if triples is None:
        places = buckets_of({fact.subject: fact.frequency for fact in held}, buckets)
    else:
        places = buckets_of(triples.frequencies, buckets, triples.counts)
    bucket_facts: dict[int, list[EntityFact]] = {number: [] for number in range(buckets)}
    for fact in held:
        if fact.subject in places:
            bucket_facts[places[fact.subject]].append(fact)
    return bucket_facts


def random_entities(
    by_bucket: Mapping[int, Sequence[EntityFact]], *, most: int = MOST, seed: int = 0
) -> dict[int, list[EntityFact]]:
    """The paper's "rand ent": at most `most` facts of each bucket, drawn at random."""
    return {
        number: shuffled(facts, lambda fact: fact.key, seed, "rand ent")[:most]
        for number, facts in by_bucket.items()
    }


def training_entities(
    by_bucket: Mapping[int, Sequence[EntityFact]], seen: Callable[[EntityFact], bool]
) -> dict[int, list[EntityFact]]:
    """The paper's "train ent": every fact of each bucket whose subject occurs in training questions."""
    return {
        number: sorted((fact for fact in facts if seen(fact)), key=lambda fact: fact.key)
        for number, facts in by_bucket.items()
    }
