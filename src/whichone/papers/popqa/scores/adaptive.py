"""Adaptive retrieval: below which popularity does retrieval help?"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import msgspec

from whichone.errors import BadInput
from whichone.papers.popqa.scores.popularity import bin_edges

FIT_SHARE = 0.75
SPLITS = 100


class Outcome(msgspec.Struct, frozen=True):
    """One question: whether it was answered with retrieval and without."""

    relation: str
    log_popularity: float
    retrieval: bool
    parametric: bool


class Adaptive(msgspec.Struct, frozen=True):
    """Accuracies on the held-out quarters, and each relation's threshold fitted on all questions.

    A threshold is a popularity: below it retrieval is used. 0 is never, None is always.
    """

    adaptive: float
    retrieval: float
    parametric: float
    low: float
    high: float
    splits: int
    questions: int
    thresholds: dict[str, float | None]


def fit_threshold(outcomes: Sequence[Outcome]) -> float:
    """The edge with most answers right: with retrieval below it, without at and above it.

    Candidates are minus infinity (never retrieve), the nine inner edges of the ten bins, and
    infinity (always); of equal ones the lowest, which retrieves least.
    """
    edges = [-math.inf, *bin_edges([o.log_popularity for o in outcomes])[1:-1], math.inf]
    return max(edges, key=lambda edge: (_right(outcomes, edge), -edge))


def _right(outcomes: Sequence[Outcome], edge: float) -> int:
    # A popularity of 0 is minus infinity: below every edge but that of never retrieving.
    return sum(o.retrieval if o.log_popularity < edge else o.parametric for o in outcomes)


def adaptive_retrieval(
    outcomes: Sequence[Outcome], *, splits: int = SPLITS, seed: int = 0
) -> Adaptive:
    """Fit on three quarters of each relation, test on the rest, many times.

    `low` and `high` are the 2.5th and 97.5th percentile over the splits.
    """
    by_relation: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_relation.setdefault(outcome.relation, []).append(outcome)
    if not any(len(members) > 1 for members in by_relation.values()):
        raise BadInput(
            "no relation has two questions with a popularity: there is nothing to fit and test on"
        )
    rng = random.Random(seed)
    results = [_one_split(by_relation, rng) for _ in range(splits)]
    means = [sum(column) / len(results) for column in zip(*results, strict=True)]
    ordered = sorted(adaptive for adaptive, _, _ in results)
    return Adaptive(
        adaptive=means[0],
        retrieval=means[1],
        parametric=means[2],
        low=_percentile(ordered, 0.025),
        high=_percentile(ordered, 0.975),
        splits=splits,
        questions=len(outcomes),
        thresholds={
            relation: _popularity(fit_threshold(members))
            for relation, members in sorted(by_relation.items())
        },
    )


def _one_split(
    by_relation: Mapping[str, Sequence[Outcome]], rng: random.Random
) -> tuple[float, float, float]:
    tested = adaptive = retrieval = parametric = 0
    for _, members in sorted(by_relation.items()):
        shuffled = rng.sample(members, len(members))
        cut = min(max(1, round(len(members) * FIT_SHARE)), max(1, len(members) - 1))
        fit, test = shuffled[:cut], shuffled[cut:]
        adaptive += _right(test, fit_threshold(fit))
        retrieval += sum(o.retrieval for o in test)
        parametric += sum(o.parametric for o in test)
        tested += len(test)
    return adaptive / tested, retrieval / tested, parametric / tested


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]


def _popularity(edge: float) -> float | None:
    return None if edge == math.inf else math.exp(edge)
