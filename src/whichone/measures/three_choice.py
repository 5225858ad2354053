"""AmbER's Table 8: which of three bearers' pages a system puts first, and a reader's exact match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.bearer_labels import ThreeChoice, ThreeChoices
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.arrow_records import Seen, blocks, numbers
from whichone.measures.intervals import Estimate, cluster_note, clusters_of, interval
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_answers
from whichone.measures.summary import group_of, percent
from whichone.records import Query
from whichone.runs.run import Answers, of_many

_BLOCK = 4_096
RULE = (
    "of the three pages the one that a run ranks best is its choice; a run whose list contains none of "
    "them has chosen none, and is wrong"
)


class ThreeRow(msgspec.Struct, frozen=True):
    """One system on one collection; a retriever has an accuracy, a reader an exact match."""

    system: str
    collection: str
    items: int
    accuracy: Estimate | None = None
    none_found: Estimate | None = None
    em: Estimate | None = None


def score_three(
    benchmark: Benchmark,
    choices: ThreeChoices,
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    answers: Sequence[Answers] = (),
) -> list[ThreeRow]:
    """Rows by collection; `ranked` contains for each system the pages of each query, best first."""
    if not choices.items:
        skipped_text = ", ".join(f"{n:,} {why}" for why, n in choices.skipped.items() if n)
        raise BadInput(
            f"no question of {benchmark.name} has three bearers' pages ({skipped_text})",
            hint="--fewer pad fills up names with two bearers",
        )
    places = _places(choices.items, benchmark.queries)
    clusters = clusters_of(benchmark.queries).numbers
    rows = []
    for system, pages in ranked.items():
        right, none = _chosen(choices.items, pages)
        for collection, own in places.by_collection:
            groups = clusters[places.rows[own]]
            estimates = [interval(values[own], groups) for values in (right, none)]
            rows.append(ThreeRow(system, collection, len(own), *estimates))
    for answer in answers:
        exact = _exact_matches(answer, benchmark)[places.rows]
        for collection, own in places.by_collection:
            asked = own[~np.isnan(exact[own])]
            if len(asked):
                em = interval(exact[asked], clusters[places.rows[asked]])
                rows.append(ThreeRow(answer.name, collection, len(asked), em=em))
    return sorted(rows, key=lambda row: row.collection)


def _chosen(items: Sequence[ThreeChoice], pages: Mapping[str, Sequence[str]]) -> tuple[Any, Any]:
    """For each item whether the gold page is the best ranked of its three, and whether none of them is ranked."""
    right, none = numbers(len(items), np.float64), numbers(len(items), np.float64)
    place = 0
    for block in blocks(items, _BLOCK):
        lists = of_many(pages, [item.query for item in block])
        firsts = [
            next((p for p in ranked if p in item.pages), None)
            for item, ranked in zip(block, lists, strict=True)
        ]
        where = slice(place, place + len(block))
        right[where] = [f == item.gold for f, item in zip(firsts, block, strict=True)]
        none[where] = [first is None for first in firsts]
        place += len(block)
    return right, none


class _Places(msgspec.Struct):
    """The row of each item's query, and the items of each collection in the order of their names."""

    rows: npt.NDArray[np.int64]
    by_collection: list[tuple[str, npt.NDArray[np.int64]]]


def _places(items: Sequence[ThreeChoice], queries: Sequence[Query]) -> _Places:
    known = Seen()
    for first, block in enumerate(blocks(items, _BLOCK)):
        start = first * _BLOCK
        known.add([item.query for item in block], range(start, start + len(block)))
    rows, groups, names = numbers(len(items), np.int64), numbers(len(items), np.int32), {"": 0}
    for first, queried in enumerate(blocks(queries, _BLOCK)):
        for n, place in enumerate(known.numbers([query.id for query in queried])):
            if place is not None:
                rows[place] = first * _BLOCK + n
                groups[place] = names.setdefault(group_of(queried[n]) or "all", len(names))
    listed = [(name, np.flatnonzero(groups == group)) for name, group in sorted(names.items())]
    return _Places(rows, [(name, own) for name, own in listed if len(own)])


def _exact_matches(answers: Answers, benchmark: Benchmark) -> npt.NDArray[np.float64]:
    """The exact match of each query."""
    if answers.benchmark_id != benchmark.id:
        raise BadInput(
            f"the answers are over {answers.benchmark_id}, not {benchmark.id}", file=answers.path
        )
    return score_answers(answers, benchmark, parse_measures(["em"])).values["em"]


def three_document(
    rows: Sequence[ThreeRow], benchmark: Benchmark, choices: ThreeChoices
) -> dict[str, Any]:
    """One JSON document: per system and collection its figures, as fractions."""
    systems: dict[str, dict[str, Any]] = {}
    for row in rows:
        figures = {"accuracy": row.accuracy, "none_found": row.none_found, "em": row.em}
        systems.setdefault(row.system, {})[row.collection] = {
            name: estimate.brief() if estimate is not None else None
            for name, estimate in figures.items()
        }
    padded = sum(item.padded > 0 for item in choices.items)
    return {
        "benchmark": benchmark.id,
        "items": len(choices.items),
        "padded": padded,
        "skipped": choices.skipped,
        "systems": systems,
        "rule": RULE,
        "intervals": cluster_note(benchmark.queries),
    }


def three_rows(rows: Sequence[ThreeRow]) -> list[dict[str, Any]]:
    """Rows for a terminal, in percent as the paper prints them."""
    return [
        {
            "collection": row.collection,
            "system": row.system,
            "right page": percent(row.accuracy) if row.accuracy else "-",
            "none of the three": percent(row.none_found) if row.none_found else "-",
            "EM": percent(row.em) if row.em else "-",
            "items": row.items,
        }
        for row in rows
    ]
