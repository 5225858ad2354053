"""From the facts of the kept relations to the sets of a benchmark: test, dev, train, buckets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from whichone.benchmarks.relations import Account
from whichone.papers.entityquestions.buckets import (
    Triples,
    bucketed,
    random_entities,
    training_entities,
)
from whichone.papers.entityquestions.disjoint import Scope, Tokenise, disjoint_train
from whichone.papers.entityquestions.fact import EntityFact
from whichone.papers.entityquestions.sampling import shuffled


class Drawn(msgspec.Struct):
    """One fact of the benchmark and the sets it was drawn for."""

    fact: EntityFact
    split: str = "none"
    bucket: int | None = None
    rand_ent: bool = False
    train_ent: bool = False


class Sizes(msgspec.Struct, frozen=True):
    """How many facts of a relation at most."""

    test: int = 1000
    dev: int = 1000
    train: int = 8000
    bucket: int = 1000


class Disjointness(msgspec.Struct, frozen=True):
    """What training facts must not share with the test set."""

    scope: Scope
    tokenise: Tokenise
    stop_words: frozenset[str]


def draw(
    facts: Sequence[EntityFact],
    sizes: Sizes,
    disjointness: Disjointness,
    bucket_relations: Collection[str],
    seen: Callable[[EntityFact], bool] | None,
    account: Account,
    seed: int,
    triples: Mapping[str, Triples] | None = None,
) -> tuple[list[Drawn], list[EntityFact]]:
    """The benchmark's facts in order of relation and subject, and the training facts."""
    drawn: dict[str, Drawn] = {}
    train: list[EntityFact] = []
    step = account.step("shares no token with the test set", "training facts")
    asked = account.step("is not asked for a bucket", "training facts")
    for relation in sorted({fact.relation for fact in facts}):
        members = [fact for fact in facts if fact.relation == relation]
        order = shuffled(members, lambda fact: fact.key, seed, "test and dev")
        test, dev = order[: sizes.test], order[sizes.test : sizes.test + sizes.dev]
        for split, chosen in (("test", test), ("dev", dev)):
            drawn.update({fact.key: Drawn(fact, split) for fact in chosen})
        disjoint = disjoint_train(
            order[sizes.test + sizes.dev :],
            test,
            scope=disjointness.scope,
            tokenise=disjointness.tokenise,
            stop_words=disjointness.stop_words,
            most=sizes.train,
            seed=seed,
        )
        step.kept += disjoint.candidates - disjoint.sharing
        step.removed += disjoint.sharing
        by_bucket = bucketed(members, triples=(triples or {}).get(relation))
        if relation in bucket_relations:
            _draw_buckets(drawn, by_bucket, sizes.bucket, seen, seed)
        unasked = [fact for fact in disjoint.facts if fact.key not in drawn]
        asked.kept += len(unasked)
        asked.removed += len(disjoint.facts) - len(unasked)
        train += unasked
        for number, held in by_bucket.items():
            for fact in held:
                if fact.key in drawn:
                    drawn[fact.key].bucket = number
    return [drawn[key] for key in sorted(drawn)], train


def _draw_buckets(
    drawn: dict[str, Drawn],
    by_bucket: Mapping[int, Sequence[EntityFact]],
    most: int,
    seen: Callable[[EntityFact], bool] | None,
    seed: int,
) -> None:
    """Add and mark the facts of "rand ent" and, where training entities are known, "train ent"."""
    for members in random_entities(by_bucket, most=most, seed=seed).values():
        for fact in members:
            drawn.setdefault(fact.key, Drawn(fact)).rand_ent = True
    if seen is not None:
        for members in training_entities(by_bucket, seen).values():
            for fact in members:
                drawn.setdefault(fact.key, Drawn(fact)).train_ent = True
