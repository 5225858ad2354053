"""AmbER's three-document choice (Table 8): a question, its gold page, and two namesakes' pages.

The same items are asked of retrievers (`whichone score three`) and of people (the user study).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import own_id
from whichone.files.arrow_records import blocks, kept
from whichone.records import NameSet, Query, Record

DOCUMENTS = 3
_BLOCK = 1_024
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

    items: Sequence[ThreeChoice]
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
    skipped = {"other task": 0, "no gold page": 0, "fewer than three bearers with pages": 0}
    pool = _pages_by_collection(benchmark) if fewer == "pad" else {}
    items = kept(ThreeChoice, _items(benchmark, seed, tasks, pool, skipped))
    if most is not None and len(items) > most:
        items = tuple(random.Random(f"{seed}").sample(items, most))
    return ThreeChoices(items, skipped)


def _items(
    benchmark: Benchmark,
    seed: int,
    tasks: Sequence[str],
    pool: dict[str, list[str]],
    skipped: dict[str, int],
) -> Iterator[ThreeChoice]:
    for block in blocks(benchmark.queries, _BLOCK):
        asked = [query for query in block if query.task in tasks]
        skipped["other task"] += len(block) - len(asked)
        others_of = benchmark.others_of(asked)
        known = _known_pages(benchmark, asked, others_of)
        for query, own, pages_of_others in zip(
            asked, benchmark.sets_of(asked), others_of, strict=True
        ):
            gold = sorted(query.gold_pages() & known)
            if not gold:
                skipped["no gold page"] += 1
                continue
            others = _other_bearers(own, pages_of_others & known)
            draw = random.Random(f"{seed}:{own_id(query)}")
            lacking = max(0, DOCUMENTS - 1 - len(others))
            strangers = _strangers(draw, query, own, pool) if lacking and own else []
            if lacking > len(strangers):
                skipped["fewer than three bearers with pages"] += 1
                continue
            pages = [gold[0], *draw.sample(others, DOCUMENTS - 1 - lacking), *strangers[:lacking]]
            draw.shuffle(pages)
            yield ThreeChoice(
                query=query.id,
                question=query.input,
                name=query.name or "",
                gold=gold[0],
                pages=tuple(pages),
                answers=query.answers(),
                padded=lacking,
            )


def _known_pages(
    benchmark: Benchmark, queries: Sequence[Query], others: Sequence[frozenset[str]]
) -> frozenset[str]:
    """Of the pages of some questions and their names those that are in the corpus, looked up together."""
    asked = {page for query in queries for page in query.gold_pages()}.union(*others)
    pages = sorted(asked)
    rows = benchmark.corpus.page_rows(pages)
    return frozenset(page for page, row in zip(pages, rows, strict=True) if row is not None)


def _other_bearers(name_set: NameSet | None, others: frozenset[str]) -> list[str]:
    """One page of each other bearer, of those that are in the corpus."""
    if name_set is None:
        return []
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
