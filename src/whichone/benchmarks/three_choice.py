"""AmbER's three-document choice (Table 8): a question, its gold page, and two namesakes' pages.

The same items are asked of retrievers (`whichone score three`) and of people (the user study).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import own_id
from whichone.records import NameSet, Query, Record

DOCUMENTS = 3
Fewer = Literal["skip", "pad"]


class ThreeChoice(Record, frozen=True):
    """One question with three bearers' pages in a seeded order, one of them gold."""

    query: str
    question: str
    name: str
    gold: str
    pages: tuple[str, ...]
    answers: tuple[str, ...] = ()
    padded: int = 0
    """How many of the pages are no namesake's, because the name has fewer bearers with pages."""


class ThreeChoices(msgspec.Struct, frozen=True):
    """Items, and how many queries could not become one, by reason."""

    items: tuple[ThreeChoice, ...]
    skipped: dict[str, int]


def three_choices(
    benchmark: Benchmark,
    *,
    seed: int = 0,
    most: int | None = None,
    tasks: Sequence[str] = ("qa",),
    fewer: Fewer = "skip",
) -> ThreeChoices:
    """Queries of the given tasks whose name has pages of three bearers, a seeded sample of them.

    A name with fewer is skipped, or padded with pages of other names' bearers in its collection.
    """
    sets = {name_set.id: name_set for name_set in benchmark.sets}
    skipped = {"other task": 0, "no gold page": 0, "fewer than three bearers with pages": 0}
    pool = _pages_by_collection(benchmark) if fewer == "pad" else {}
    items = []
    known = _known_pages(benchmark, tasks)
    for query in benchmark.queries:
        if query.task not in tasks:
            skipped["other task"] += 1
            continue
        gold = sorted(query.gold_pages() & known)
        if not gold:
            skipped["no gold page"] += 1
            continue
        own = sets.get(query.name_set or "")
        others = _other_bearers(benchmark, query, own, known)
        draw = random.Random(f"{seed}:{own_id(query)}")
        lacking = max(0, DOCUMENTS - 1 - len(others))
        strangers = _strangers(draw, query, own, pool) if lacking and own else []
        if lacking > len(strangers):
            skipped["fewer than three bearers with pages"] += 1
            continue
        pages = [gold[0], *draw.sample(others, DOCUMENTS - 1 - lacking), *strangers[:lacking]]
        draw.shuffle(pages)
        items.append(
            ThreeChoice(
                query=query.id,
                question=query.input,
                name=query.name or "",
                gold=gold[0],
                pages=tuple(pages),
                answers=query.answers(),
                padded=lacking,
            )
        )
    if most is not None and len(items) > most:
        items = random.Random(f"{seed}").sample(items, most)
    return ThreeChoices(tuple(items), skipped)


def _known_pages(benchmark: Benchmark, tasks: Sequence[str]) -> frozenset[str]:
    """Of the pages of these tasks' questions and names those that are in the corpus, looked up together."""
    asked = {
        page
        for query in benchmark.queries
        if query.task in tasks
        for page in (*query.gold_pages(), *benchmark.other_pages(query))
    }
    pages = sorted(asked)
    rows = benchmark.corpus.page_rows(pages)
    return frozenset(page for page, row in zip(pages, rows, strict=True) if row is not None)


def _other_bearers(
    benchmark: Benchmark, query: Query, name_set: NameSet | None, known: frozenset[str]
) -> list[str]:
    """One page of each other bearer, of those that are in the corpus."""
    if name_set is None:
        return []
    others = benchmark.other_pages(query) & known
    pages = (next((p for p in b.pages if p in others), None) for b in name_set.bearers)
    return list(dict.fromkeys(page for page in pages if page is not None))


def _pages_by_collection(benchmark: Benchmark) -> dict[str, list[str]]:
    """One page of each bearer in the corpus, by collection."""
    all_pages: dict[str, dict[str, None]] = {}
    for name_set in benchmark.sets:
        pages = (next((p for p in b.pages if p in benchmark.pages), None) for b in name_set.bearers)
        own = all_pages.setdefault(name_set.collection, {})
        own.update(dict.fromkeys(page for page in pages if page is not None))
    return {collection: list(pages) for collection, pages in all_pages.items()}


def _strangers(
    draw: random.Random, query: Query, own: NameSet, pool: dict[str, list[str]]
) -> list[str]:
    """A few drawn pages of other names' bearers, none of them a page of this name."""
    namesakes = {page for bearer in own.bearers for page in bearer.pages} | query.gold_pages()
    pages = pool.get(own.collection, [])
    drawn = draw.sample(pages, min(len(pages), DOCUMENTS + len(namesakes)))
    return [page for page in drawn if page not in namesakes]
