"""A built question, and how it becomes a query and its name a set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from whichone.papers.ambigdocs.bearers import SurfaceName
from whichone.papers.ambigdocs.queries import TASK, set_id
from whichone.papers.ambigdocs.shared_facts import BearerPage
from whichone.records import Bearer, NameSet, Output, Provenance, Query, page_of

SHARES = (("train", 0.7), ("dev", 0.1), ("test", 0.2))
"""All questions about one name are in one split."""


class Statement(msgspec.Struct, frozen=True):
    """One bearer's own answer, other ways to write it, and the passage that states it."""

    bearer: BearerPage
    answer: str
    aliases: tuple[str, ...]
    passage: str


class BuiltQuestion(msgspec.Struct, frozen=True):
    """A question about a name; `property` None: a model wrote it."""

    name: SurfaceName
    property: str | None
    question: str
    statements: tuple[Statement, ...]


def built_queries(built: Sequence[BuiltQuestion], seed: int, language: str = "en") -> list[Query]:
    splits = split_names((question.name.key for question in built), seed)
    order = {"train": 0, "dev": 1, "test": 2}
    queries = [_query(question, splits[question.name.key], language) for question in built]
    return sorted(queries, key=lambda q: (order[q.attributes["split"]], q.id))


def _query(question: BuiltQuestion, split: str, language: str) -> Query:
    outputs = tuple(
        Output(
            answer=statement.answer,
            aliases=statement.aliases,
            entity=statement.bearer.entity,
            provenance=(
                (
                    Provenance(
                        page=page_of(statement.passage),
                        passage=statement.passage,
                        title=statement.bearer.title,
                    ),
                ),
            ),
            attributes={"popularity": statement.bearer.popularity},
        )
        for statement in question.statements
    )
    return Query(
        id=f"{set_id(question.name.name)}/{question.property or 'question'}",
        task=TASK,
        input=question.question,
        language=language,
        outputs=outputs,
        name=question.name.name,
        name_set=set_id(question.name.name),
        relation=question.property,
        attributes={"split": split, "bearers": len(outputs)},
    )


def built_sets(built: Sequence[BuiltQuestion], about: Mapping[str, BearerPage]) -> list[NameSet]:
    """The names asked about with all their bearers, the most popular first and head."""
    names = {question.name.key: question.name for question in built}
    return [
        NameSet(
            id=set_id(name.name),
            name=name.name,
            collection=TASK,
            bearers=_ranked([about[page] for page in name.pages]),
        )
        for name in names.values()
    ]


def _ranked(pages: Sequence[BearerPage]) -> tuple[Bearer, ...]:
    known = all(page.popularity is not None for page in pages)
    ranked = sorted(pages, key=lambda p: (-(p.popularity or 0.0), p.page)) if known else pages
    return tuple(
        Bearer(
            entity=page.entity,
            label=page.title,
            role=None if not known else "head" if rank == 0 else "tail",
            popularity=page.popularity,
            pages=(page.page,),
        )
        for rank, page in enumerate(ranked)
    )


def split_names(names: Iterable[str], seed: int = 0) -> dict[str, str]:
    """The split of every name: 70 % train, 10 % dev, 20 % test, by a hash of seed and name."""
    order = sorted(set(names), key=lambda name: (_hash(seed, name), name))
    splits: dict[str, str] = {}
    start, share = 0, 0.0
    for split, part in SHARES:
        share += part
        end = round(share * len(order))
        splits.update((name, split) for name in order[start:end])
        start = end
    return splits


def _hash(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()
