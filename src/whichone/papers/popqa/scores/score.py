"""PopQA's scores of one system, by relation and popularity, and beside one without retrieval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from whichone.measures.intervals import Estimate, interval
from whichone.papers.popqa.scores.adaptive import Adaptive, Outcome, adaptive_retrieval
from whichone.papers.popqa.scores.correct import correct, first_line
from whichone.papers.popqa.scores.popularity import bin_edges, bin_of, log_popularity
from whichone.records import Query


class Judged(msgspec.Struct, frozen=True):
    """One question's verdicts; `bin` counts from 0 within the relation."""

    query: Query
    first_line: bool
    whole_output: bool
    log_popularity: float | None
    bin: int | None


def judge(queries: Sequence[Query], predictions: Mapping[str, str]) -> list[Judged]:
    """Every question of the file; bins are made over each relation's own questions."""
    logs = {query.id: log_popularity(query.attributes.get("s_pop")) for query in queries}
    edges: dict[str | None, list[float]] = {}
    for relation in {query.relation for query in queries}:
        values = [logs[q.id] for q in queries if q.relation == relation]
        edges[relation] = bin_edges([value for value in values if value is not None])
    judged = []
    for query in queries:
        answers, text, log = query.answers(), predictions[query.id], logs[query.id]
        judged.append(
            Judged(
                query,
                correct(answers, first_line(text)),
                correct(answers, text),
                log,
                None if log is None else bin_of(log, edges[query.relation]),
            )
        )
    return judged


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """Accuracy of the first line and of the whole output: in all, by relation, by popularity bin."""
    return {
        "questions": len(judged),
        **_both(judged),
        "relations": _grouped(judged, lambda j: j.query.relation or ""),
        "popularity_bins": _grouped([j for j in judged if j.bin is not None], lambda j: str(j.bin)),
        "without_popularity": sum(j.bin is None for j in judged),
        "zero_popularity": sum(j.log_popularity == -math.inf for j in judged),
    }


def _both(judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        "first_line": _estimate([j.first_line for j in judged], judged),
        "whole_output": _estimate([j.whole_output for j in judged], judged),
    }


def _estimate(values: Sequence[bool], judged: Sequence[Judged]) -> dict[str, Any]:
    clusters = [j.query.entity or j.query.id for j in judged]
    estimate: Estimate = interval([float(v) for v in values], clusters)
    return estimate.brief()


def _grouped(judged: Sequence[Judged], key: Callable[[Judged], str]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Judged]] = {}
    for judgement in judged:
        groups.setdefault(key(judgement), []).append(judgement)
    return {name: _both(members) for name, members in sorted(groups.items())}


def compare_with_parametric(
    retrieval: Sequence[Judged], parametric: Sequence[Judged], *, splits: int, seed: int
) -> Adaptive:
    """Where retrieval helps: first lines of a system with retrieval, and of one without."""
    outcomes = [
        Outcome(a.query.relation or "", a.log_popularity, a.first_line, b.first_line)
        for a, b in zip(retrieval, parametric, strict=True)
        if a.log_popularity is not None
    ]
    return adaptive_retrieval(outcomes, splits=splits, seed=seed)


def rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """One row a question."""
    return [
        {
            "query": j.query.id,
            "question": j.query.input,
            "relation": j.query.relation,
            "popularity": j.query.attributes.get("s_pop"),
            "bin": j.bin,
            "first_line": j.first_line,
            "whole_output": j.whole_output,
        }
        for j in judged
    ]
