"""AmbER's Table 8: which of three bearers' pages a system puts first, and a reader's exact match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.three_choice import ThreeChoices
from whichone.errors import BadInput
from whichone.measures.answer_scores import score_answers
from whichone.measures.clusters import cluster, cluster_note
from whichone.measures.intervals import Estimate, interval
from whichone.measures.measure import parse_measures
from whichone.measures.summary import group_of, percent
from whichone.records import Query
from whichone.runs.answers import Answers

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
    queries = {query.id: query for query in benchmark.queries}
    rows = []
    for system, pages in ranked.items():
        first = {
            item.query: next((p for p in pages.get(item.query, ()) if p in item.pages), None)
            for item in choices.items
        }
        right = {i.query: float(first[i.query] == i.gold) for i in choices.items}
        none = {query: float(page is None) for query, page in first.items()}
        for collection, members in _collections(choices, queries).items():
            estimates = [_estimate(values, members) for values in (right, none)]
            rows.append(ThreeRow(system, collection, len(members), *estimates))
    for answer in answers:
        exact = _exact_matches(answer, benchmark)
        for collection, members in _collections(choices, queries).items():
            asked = [query for query in members if not np.isnan(exact[query.id])]
            if asked:
                em = _estimate(exact, asked)
                rows.append(ThreeRow(answer.name, collection, len(asked), em=em))
    return sorted(rows, key=lambda row: row.collection)


def _collections(choices: ThreeChoices, queries: Mapping[str, Query]) -> dict[str, list[Query]]:
    all_queries: dict[str, list[Query]] = {}
    for item in choices.items:
        query = queries[item.query]
        all_queries.setdefault(group_of(query) or "all", []).append(query)
    return dict(sorted(all_queries.items()))


def _estimate(values: Mapping[str, float], members: Sequence[Query]) -> Estimate:
    clusters = [":".join(cluster(query)) for query in members]
    return interval([values[query.id] for query in members], clusters)


def _exact_matches(answers: Answers, benchmark: Benchmark) -> dict[str, float]:
    if answers.benchmark_id != benchmark.id:
        raise BadInput(
            f"the answers are over {answers.benchmark_id}, not {benchmark.id}", file=answers.path
        )
    scores = score_answers(answers, benchmark, parse_measures(["em"]))
    ids = [query.id for query in scores.queries]
    return dict(zip(ids, map(float, scores.values["em"]), strict=True))


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
