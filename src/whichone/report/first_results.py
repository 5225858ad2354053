"""What every system put first for every query, gone through once for all sections of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.arrow_records import blocks, numbers
from whichone.measures.ranking_measures import first_rank, is_confused, kind_of_page
from whichone.measures.scores import Scores
from whichone.measures.summary import DEPTH
from whichone.runs.run import Run, of_many

KINDS = ("gold", "namesake", "other", "nothing", "failed")
GOLD, NAMESAKE = KINDS.index("gold"), KINDS.index("namesake")
Outcome = Literal["right", "namesake", "else", "missing"]
OUTCOMES: tuple[Outcome, ...] = ("right", "namesake", "else", "missing")
_BLOCK = 1_024

Codes = npt.NDArray[np.int8]


class FirstResults(msgspec.Struct):
    """By system a number for each query: the kind of what came first in `KINDS`, and what became of it in `OUTCOMES`."""

    kinds: dict[str, Codes]
    outcomes: dict[str, Codes]
    any_gold: bool = False
    any_set: bool = False


def first_results(
    runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark
) -> FirstResults:
    ranked = {s.system: run.ranked_pages() for s, run in zip(systems, runs, strict=True)}
    failures = {s.system: run.failures for s, run in zip(systems, runs, strict=True)}
    size = len(benchmark.queries)
    results = FirstResults(
        {system: numbers(size, np.int8) for system in ranked},
        {system: numbers(size, np.int8) for system in ranked},
    )
    place = 0
    for block in blocks(benchmark.queries, _BLOCK):
        ids = [query.id for query in block]
        gold = [query.gold_pages() for query in block]
        others = benchmark.others_of(block)
        results.any_gold = results.any_gold or any(gold)
        results.any_set = results.any_set or any(query.name_set for query in block)
        for system, pages in ranked.items():
            lists = of_many(pages, ids)
            where = slice(place, place + len(block))
            results.kinds[system][where] = [
                KINDS.index(first_kind(i, p, g, o, failures[system]))
                for i, p, g, o in zip(ids, lists, gold, others, strict=True)
            ]
            results.outcomes[system][where] = [
                OUTCOMES.index(outcome_of(p, g, o))
                for p, g, o in zip(lists, gold, others, strict=True)
            ]
        place += len(block)
    return results


def first_kind(
    query: str,
    pages: Sequence[str],
    gold: frozenset[str],
    others: frozenset[str],
    failures: Mapping[str, Any],
) -> str:
    """The kind of what a system put first for a query."""
    if query in failures:
        return "failed"
    return kind_of_page(pages[0], gold, others) if pages else "nothing"


def outcome_of(pages: Sequence[str], gold: frozenset[str], others: frozenset[str]) -> Outcome:
    """One of four: each question counts once."""
    if pages and pages[0] in gold:
        return "right"
    if is_confused(pages[:DEPTH], gold, others):
        return "namesake"
    return "else" if first_rank(pages, gold) is not None else "missing"
