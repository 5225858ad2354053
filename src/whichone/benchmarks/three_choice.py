"""AmbER's three-document choice (Table 8): a question, its gold page, and two namesakes' pages."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import NameSet, Query, Record

DOCUMENTS = 3


class ThreeChoice(Record, frozen=True):
    """One question with three bearers' pages in a seeded order, one of them gold."""

    query: str
    question: str
    name: str
    gold: str
    pages: tuple[str, ...]
    answers: tuple[str, ...] = ()


class ThreeChoices(msgspec.Struct, frozen=True):
    """Items, and how many queries could not become one, by reason."""

    items: tuple[ThreeChoice, ...]
    skipped: dict[str, int]


def three_choices(
    benchmark: Benchmark, *, seed: int = 0, most: int | None = None, tasks: Sequence[str] = ("qa",)
) -> ThreeChoices:
    """Queries of the given tasks whose name has pages of three bearers, a seeded sample of them."""
    sets = {name_set.id: name_set for name_set in benchmark.sets}
    skipped = {"other task": 0, "no gold page": 0, "fewer than three bearers with pages": 0}
    items = []
    for query in benchmark.queries:
        if query.task not in tasks:
            skipped["other task"] += 1
            continue
        gold = sorted(query.gold_pages() & benchmark.pages)
        if not gold:
            skipped["no gold page"] += 1
            continue
        others = _other_bearers(benchmark, query, sets.get(query.name_set or ""))
        if len(others) < DOCUMENTS - 1:
            skipped["fewer than three bearers with pages"] += 1
            continue
        draw = random.Random(f"{seed}:{query.id}")
        pages = [gold[0], *draw.sample(others, DOCUMENTS - 1)]
        draw.shuffle(pages)
        items.append(
            ThreeChoice(
                query=query.id,
                question=query.input,
                name=query.name or "",
                gold=gold[0],
                pages=tuple(pages),
                answers=query.answers(),
            )
        )
    if most is not None and len(items) > most:
        items = random.Random(f"{seed}").sample(items, most)
    return ThreeChoices(tuple(items), skipped)


def _other_bearers(benchmark: Benchmark, query: Query, name_set: NameSet | None) -> list[str]:
    """One page of each other bearer, of those that are in the corpus."""
    if name_set is None:
        return []
    others = benchmark.other_pages(query) & benchmark.pages
    found = (next((p for p in b.pages if p in others), None) for b in name_set.bearers)
    return list(dict.fromkeys(page for page in found if page is not None))
