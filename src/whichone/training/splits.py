"""Train and held-out parts that share no name, and the refusal of those that do."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from whichone.errors import BadInput, UsageError, sample
from whichone.names import name_key, title_key
from whichone.progress import talk
from whichone.records import Query
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.text.drqa import tokens as drqa_tokens


class Asked(Protocol):
    """What is compared between training and test data."""

    @property
    def question(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def gold(self) -> tuple[str, ...]: ...

    @property
    def relation(self) -> str: ...


A = TypeVar("A", bound=Asked)


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
    train: Sequence[Asked],
    test: Sequence[Query],
    *,
    tokens: bool = False,
    within_relation: bool = False,
) -> dict[str, dict[str, list[int]]]:
    """What is on both sides: names, gold pages, questions, and with `tokens` words of names.

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
    shareds: dict[str, dict[str, list[int]]] = {"names": {}, "gold pages": {}, "questions": {}}
    if tokens:
        shareds["words of names"] = {}
    for place, example in enumerate(train):
        shared = {
            "names": {example.name} & names,
            "gold pages": {*example.gold} & pages,
            "questions": {example.question} & questions,
            "words of names": name_words(example.name) & words,
        }
        for what, both in shared.items():
            for leak in both:
                shareds.setdefault(what, {}).setdefault(leak, []).append(place)
    return shareds


def _leaks_by_relation(
    train: Sequence[Asked], test: Sequence[Query]
) -> dict[str, dict[str, list[int]]]:
    asked: dict[str, list[Query]] = {}
    for query in test:
        asked.setdefault(query.relation or "", []).append(query)
    shareds: dict[str, dict[str, list[int]]] = {"names": {}, "gold pages": {}, "questions": {}}
    for relation in dict.fromkeys(example.relation for example in train):
        places = [n for n, example in enumerate(train) if example.relation == relation]
        shared = leaks([train[n] for n in places], asked.get(relation, []))
        for what, things in shared.items():
            for thing, positions in things.items():
                shareds[what].setdefault(thing, []).extend(places[n] for n in positions)
    return shareds


def name_words(name: str) -> set[str]:
    """The tokens of a name, those without a letter or digit and the commonest words aside."""
    return {
        token
        for token in drqa_tokens(name)
        if any(map(str.isalnum, token)) and token not in LUCENE_STOP_WORDS
    }


def check_leaks(
    train: Sequence[Asked],
    test: Sequence[Query],
    *,
    tokens: bool = False,
    within_relation: bool = False,
) -> None:
    """Refuse what is on both sides, counting and naming it."""
    both = leaks(train, test, tokens=tokens, within_relation=within_relation)
    if any(both.values()):
        first = next(shared for shared in both.values() if shared)
        raise BadInput(
            f"{leaks_text(both)} are in both training and test data: {sample(sorted(first))}",
            hint="leave the examples that have them out with --drop-leaks",
        )


def leaks_text(both: Mapping[str, Mapping[str, Sequence[int]]]) -> str:
    return ", ".join(f"{len(shared):,} {what}" for what, shared in both.items() if shared)


def without_leaks(
    train: Sequence[A],
    test: Sequence[Query],
    *,
    tokens: bool = False,
    within_relation: bool = False,
) -> list[A]:
    """The examples that share nothing with the test data; what was shared is counted and said."""
    both = leaks(train, test, tokens=tokens, within_relation=within_relation)
    sharing = {n for shared in both.values() for places in shared.values() for n in places}
    if sharing:
        talk(f"{leaks_text(both)} are in both training and test data; the examples are left out")
    return [example for n, example in enumerate(train) if n not in sharing]
