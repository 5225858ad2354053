"""Reads the released files of AmbER sets: names, their bearers, and each bearer's queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from whichone.errors import BadInput
from whichone.files.lines import read_json_lines
from whichone.records import Role

PageId = str | int | float | None
"""As it appears in the file: the released scorer takes 5 and "5" for different pages."""


class SetQuery(Struct, frozen=True):
    """A query of one bearer, its gold pages, and the pages of the name's other bearers."""

    id: str
    name: str
    entity: str
    role: Role
    gold: frozenset[PageId]
    others: frozenset[PageId]


class QuerySet(Struct, frozen=True):
    """All queries about the bearers of one name."""

    name: str
    queries: tuple[SetQuery, ...]


class _Page(Struct):
    wikipedia_id: PageId


class _Output(Struct):
    provenance: list[_Page] = []


class _Query(Struct):
    id: Any
    output: _Output | list[_Output]


class _Bearer(Struct):
    is_head: bool
    queries: list[_Query] = []
    wikipedia: list[_Page] = []


class _Set(Struct):
    name: str
    qids: dict[str, _Bearer]


def read_sets(path: str | Path) -> list[QuerySet]:
    """Every set of the file, sets without a query included."""
    if Path(path).is_dir():
        raise BadInput(
            "a folder, where one file of AmbER sets is wanted",
            file=path,
            hint="`whichone export BENCH OUT --format amber` writes OUT/qa/amber_sets.jsonl; "
            "`whichone score RUN` scores a run on its own benchmark",
        )
    sets = []
    for _, record in read_json_lines(path, _Set):
        sets.append(_query_set(record))
    if not sets:
        raise BadInput("there are no AmbER sets in it", file=path)
    return sets


def _query_set(record: _Set) -> QuerySet:
    pages = {entity: _ids(bearer.wikipedia) for entity, bearer in record.qids.items()}
    queries = []
    for entity, bearer in record.qids.items():
        others = frozenset[PageId]().union(*(p for e, p in pages.items() if e != entity))
        for query in bearer.queries:
            outputs = query.output if isinstance(query.output, list) else [query.output]
            gold = frozenset[PageId]().union(*(_ids(output.provenance) for output in outputs))
            queries.append(
                SetQuery(
                    id=str(query.id),
                    name=record.name,
                    entity=entity,
                    role="head" if bearer.is_head else "tail",
                    gold=gold,
                    others=others - gold - pages[entity],
                )
            )
    return QuerySet(record.name, tuple(queries))


def _ids(pages: list[_Page]) -> frozenset[PageId]:
    return frozenset(page.wikipedia_id for page in pages)


def as_text(sets: list[QuerySet]) -> list[QuerySet]:
    """The same sets with page ids as text, for predictions that have no other kind."""
    return [
        msgspec.structs.replace(
            query_set,
            queries=tuple(
                msgspec.structs.replace(
                    q, gold=frozenset(map(str, q.gold)), others=frozenset(map(str, q.others))
                )
                for q in query_set.queries
            ),
        )
        for query_set in sets
    ]
