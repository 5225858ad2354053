"""Train and held-out parts that share no name, and the refusal of those that do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from whichone.errors import BadInput, UsageError, sample
from whichone.names import name_key, title_key
from whichone.records import Query
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.text.drqa import tokens as drqa_tokens
from whichone.training.examples import Example


def name_of(query: Query) -> str:
    """What a query is split by: its name, else what its gold pages' titles name, else page or id."""
    if query.name:
        return name_key(query.name)
    evidence = [p for o in query.outputs for group in o.provenance for p in group]
    titles = [title_key(p.title) for p in evidence if p.title]
    return min(titles) if titles else min((p.page for p in evidence), default=query.id)


def share_of(name: str, seed: int = 0) -> float:
    """A number from 0 to 1 that only the name and the seed decide."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def split_by_name(
    queries: Sequence[Query], held_out: float, *, seed: int = 0
) -> tuple[list[Query], list[Query]]:
    """Queries to learn from, and queries about names that are never seen; 0 learns from all."""
    if not 0 <= held_out < 1:
        raise UsageError("the held-out share is 0 or more and below 1")
    train = [q for q in queries if share_of(name_of(q), seed) >= held_out]
    test = [q for q in queries if share_of(name_of(q), seed) < held_out]
    return train, test


def leaks(
    train: Sequence[Example],
    test: Sequence[Query],
    *,
    tokens: bool = False,
    within_relation: bool = False,
) -> dict[str, dict[str, list[int]]]:
    """What stands on both sides: names, gold pages, questions, and with `tokens` words of names.

    Under each of them what is shared, and the places of the examples that share it. With
    `within_relation` a name or page may be learned of with another relation than it is asked about, as
    in the published splits of EntityQuestions.
    """
    if within_relation and not tokens:
        return _leaks_by_relation(train, test)
    names = {name_of(q) for q in test}
    pages = {p for q in test for p in q.gold_pages()}
    questions = {q.input for q in test}
    words = {word for name in names for word in name_words(name)} if tokens else set()
    found: dict[str, dict[str, list[int]]] = {"names": {}, "gold pages": {}, "questions": {}}
    if tokens:
        found["words of names"] = {}
    for place, example in enumerate(train):
        shared = {
            "names": {example.name} & names,
            "gold pages": {*example.gold} & pages,
            "questions": {example.question} & questions,
            "words of names": name_words(example.name) & words,
        }
        for what, both in shared.items():
            for one in both:
                found.setdefault(what, {}).setdefault(one, []).append(place)
    return found


def _leaks_by_relation(
    train: Sequence[Example], test: Sequence[Query]
) -> dict[str, dict[str, list[int]]]:
    asked: dict[str, list[Query]] = {}
    for query in test:
        asked.setdefault(query.relation or "", []).append(query)
    found: dict[str, dict[str, list[int]]] = {"names": {}, "gold pages": {}, "questions": {}}
    for relation in dict.fromkeys(example.relation for example in train):
        places = [n for n, example in enumerate(train) if example.relation == relation]
        shared = leaks([train[n] for n in places], asked.get(relation, []))
        for what, things in shared.items():
            for thing, positions in things.items():
                found[what].setdefault(thing, []).extend(places[n] for n in positions)
    return found


def name_words(name: str) -> set[str]:
    """The tokens of a name, those without a letter or digit and the commonest words aside."""
    return {
        token
        for token in drqa_tokens(name)
        if any(map(str.isalnum, token)) and token not in LUCENE_STOP_WORDS
    }


def check_leaks(
    train: Sequence[Example],
    test: Sequence[Query],
    *,
    tokens: bool = False,
    within_relation: bool = False,
) -> None:
    """Refuse what stands on both sides, naming it."""
    both = leaks(train, test, tokens=tokens, within_relation=within_relation)
    for what, shared in both.items():
        if shared:
            raise BadInput(
                f"{len(shared)} {what} stand in both training and test data: {sample(sorted(shared))}",
                hint="leave the examples that hold them out with --drop-leaks",
            )


def without_leaks(
    train: Sequence[Example],
    test: Sequence[Query],
    *,
    tokens: bool = False,
    within_relation: bool = False,
) -> list[Example]:
    """The examples that share nothing with the test data."""
    found = leaks(train, test, tokens=tokens, within_relation=within_relation).values()
    sharing = {place for shared in found for places in shared.values() for place in places}
    return [e for place, e in enumerate(train) if place not in sharing]
