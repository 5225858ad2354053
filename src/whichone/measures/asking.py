"""When an agent asks back: where it is needed, where it is not, and what it gains.

A question that does not say which bearer is meant (`underspecified`) is one where asking is right. `risk_coverage` is
the curve of wrong answers among those given, as less certain ones are withheld.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.measures.answer_scores import score_answers
from whichone.measures.intervals import Estimate
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, estimate
from whichone.records import Query
from whichone.runs.agents import trace_of
from whichone.runs.answers import Answers

NEEDED = ("answer_right", "asked_user", "answered_for_namesake", "right_action", "wrong_action")


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one system; `turns` are questions to the user for each right answer."""

    system: str
    asked_when_needed: Estimate
    asked_when_not: Estimate
    right: Estimate
    right_when_needed: Estimate
    right_after_one_turn: Estimate
    namesake: Estimate
    turns_per_right: float | None
    risk_coverage: tuple[tuple[float, float], ...] = ()


def asking(answers: Answers, benchmark: Benchmark | None = None) -> Asking:
    """The figures of a folder of an agent's answers."""
    base = benchmark or answers.benchmark()
    if not any("underspecified" in q.attributes for q in base.queries):
        raise BadInput(
            f"{base.id} does not mark questions where asking is right",
            hint="build it with: whichone build catalogue KB BENCH --underspecified 0.5",
        )
    scores = score_answers(answers, base, parse_measures(list(NEEDED)))
    right = _right(scores)
    asked = scores.values["asked_user"]
    turns = [
        len(trace.of("ask_user")) if (trace := trace_of(a)) else 0 for a in answers.answers.values()
    ]
    total = float(np.nansum(right))
    certainty = {q: a.score for q, a in answers.answers.items() if a.score is not None}
    return Asking(
        system=answers.name,
        asked_when_needed=_mean(scores, asked, _needs),
        asked_when_not=_mean(scores, asked, lambda q: not _needs(q)),
        right=_mean(scores, right, lambda q: True),
        right_when_needed=_mean(scores, right, _needs),
        right_after_one_turn=_mean(scores, np.where(asked == 1, right, np.nan), lambda q: True),
        namesake=_mean(scores, _taken_for_another(scores), lambda q: True),
        turns_per_right=sum(turns) / total if total else None,
        risk_coverage=risk_coverage(
            [certainty.get(q.id, float(not a)) for q, a in zip(scores.queries, asked, strict=True)],
            list(right),
        ),
    )


def risk_coverage(
    certainty: list[float], right: list[float], points: int = 50
) -> tuple[tuple[float, float], ...]:
    """(share answered, share of those wrong), the most certain first; ties are answered together."""
    known = [(c, r) for c, r in zip(certainty, right, strict=True) if not np.isnan(r)]
    known.sort(key=lambda pair: -pair[0])
    curve: list[tuple[float, float]] = []
    wrong = 0.0
    for n, (level, value) in enumerate(known, 1):
        wrong += 1 - value
        if n == len(known) or known[n][0] != level:
            curve.append((n / len(known), wrong / n))
    step = max(1, len(curve) // points)
    return (*curve[:-1:step], *curve[-1:])


def _right(scores: Scores) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Right answers, or right actions where an action is asked for."""
    acted = scores.values["right_action"]
    right_values: np.ndarray[tuple[int], np.dtype[np.float64]] = np.where(
        np.isnan(acted), scores.values["answer_right"], acted
    )
    return right_values


def _taken_for_another(scores: Scores) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    acted = scores.values["wrong_action"]
    wrong_values: np.ndarray[tuple[int], np.dtype[np.float64]] = np.where(
        np.isnan(acted), scores.values["answered_for_namesake"], acted
    )
    return wrong_values


def _needs(query: Query) -> bool:
    return bool(query.attributes.get("underspecified"))


def _mean(
    scores: Scores,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    chosen: Callable[[Query], bool],
) -> Estimate:
    rows = np.array([n for n, q in enumerate(scores.queries) if chosen(q)], np.int64)
    (measure,) = parse_measures(["answer_right"])
    changed = Scores(
        scores.system, scores.benchmark, scores.queries, scores.measures, {str(measure): values}
    )
    return estimate(changed, measure, rows)
