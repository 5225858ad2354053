"""Train and held-out parts that share no name, and the refusal of those that do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from whichone.errors import BadInput, UsageError, sample
from whichone.names import name_key
from whichone.records import Query
from whichone.training.examples import Example


def name_of(query: Query) -> str:
    """What a query is split by: its name, else its gold page, else itself."""
    if query.name:
        return name_key(query.name)
    gold = query.gold_pages()
    return min(gold) if gold else query.id


def share_of(name: str, seed: int = 0) -> float:
    """A number from 0 to 1 that only the name and the seed decide."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def split_by_name(
    queries: Sequence[Query], held_out: float, *, seed: int = 0
) -> tuple[list[Query], list[Query]]:
    """Queries to learn from, and queries about names that are never seen."""
    if not 0 < held_out < 1:
        raise UsageError("the held-out share lies between 0 and 1")
    train = [q for q in queries if share_of(name_of(q), seed) >= held_out]
    test = [q for q in queries if share_of(name_of(q), seed) < held_out]
    return train, test


def check_leaks(train: Sequence[Example], test: Sequence[Query]) -> None:
    """Refuse names, entities' pages or questions that stand on both sides, naming them."""
    names = {e.name for e in train if e.name} & {name_key(q.name) for q in test if q.name}
    pages = {p for e in train for p in e.gold} & {p for q in test for p in q.gold_pages()}
    questions = {e.question for e in train} & {q.input for q in test}
    for what, shared in (("names", names), ("gold pages", pages), ("questions", questions)):
        if shared:
            raise BadInput(
                f"{len(shared)} {what} stand in both training and test data: {sample(sorted(shared))}",
                hint="split by name (--held-out), or leave these out with --drop-leaks",
            )


def without_leaks(train: Sequence[Example], test: Sequence[Query]) -> list[Example]:
    """The examples whose name, gold pages and question no test query has."""
    names = {name_key(q.name) for q in test if q.name}
    pages = {p for q in test for p in q.gold_pages()}
    questions = {q.input for q in test}
    return [
        e
        for e in train
        if e.name not in names and e.question not in questions and pages.isdisjoint(e.gold)
    ]
