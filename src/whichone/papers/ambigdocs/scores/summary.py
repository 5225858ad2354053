"""All predictions of a system together: means with intervals, category shares, and what was odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from whichone.errors import BadInput, sample
from whichone.measures.intervals import Estimate, interval, interval_note
from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.papers.ambigdocs.scores.exact_match import never_exact
from whichone.papers.ambigdocs.scores.overlap import distinguishing_tokens
from whichone.papers.ambigdocs.scores.rules import (
    DEFAULT,
    Rules,
    chosen_documents,
    rules_for,
    scored_documents,
    without_answer,
)
from whichone.papers.ambigdocs.scores.score import MEASURES, PredictionScore, score_prediction
from whichone.text.normalisers import content_tokens, surface_name

PUBLISHED_NAMES = {
    "R": "answer_recall",
    "Entity": "entity_recall",
    "EWR": "entity_answer_recall",
    "KP": "knowledge_precision",
    "DF1": "disambig_f1",
}


def score_all(predictions: Sequence[Prediction], rules: Rules = DEFAULT) -> list[PredictionScore]:
    """Every prediction scored; two predictions for one question are an error, unless published."""
    if not predictions:
        raise BadInput("there are no predictions")
    seen = Counter(p.question.qid for p in predictions)
    twice = [qid for qid, n in seen.items() if n > 1]
    if twice and not rules.published:
        raise BadInput(
            f"{len(twice)} questions are answered twice: {sample(twice)}",
            hint="keep one prediction a qid",
        )
    return [score_prediction(prediction, rules) for prediction in predictions]


def clusters(predictions: Sequence[Prediction]) -> list[str]:
    """Questions about one name are drawn together when means are resampled."""
    return [surface_name(p.question.ambiguous_entity) for p in predictions]


def measure_values(scores: Sequence[PredictionScore], measure: str) -> list[float]:
    """One measure of every question, NaN where it does not apply."""
    values = (getattr(score, measure) for score in scores)
    return [float("nan") if value is None else float(value) for value in values]


def category_values(scores: Sequence[PredictionScore], category: Category) -> list[float]:
    """1 where a question's answer is of this category, else 0; NaN where it has none."""
    return [
        float("nan") if score.category is None else float(score.category is category)
        for score in scores
    ]


def estimates(scores: Sequence[PredictionScore], names: Sequence[str]) -> dict[str, Estimate]:
    """Every measure and every category's share, each with its interval."""
    figures = {measure: interval(measure_values(scores, measure), names) for measure in MEASURES}
    for category in Category:
        figures[category.value] = interval(category_values(scores, category), names)
    return figures


def summarise(
    predictions: Sequence[Prediction],
    scores: Sequence[PredictionScore],
    rules: Rules = DEFAULT,
) -> dict[str, Any]:
    """The whole result of one system."""
    figures = estimates(scores, clusters(predictions))
    counts = Counter(score.category for score in scores if score.category is not None)
    result: dict[str, Any] = {
        "rules": "published" if rules.published else "default",
        "documents": rules.documents,
        "questions": len(scores),
        "scored": sum(score.category is not None for score in scores),
        "intervals": interval_note("shared name", len(set(clusters(predictions)))),
        "measures": {name: figures[name].brief() for name in MEASURES if figures[name].n},
        "categories": {
            category.value: {"count": counts[category], **figures[category.value].brief()}
            for category in Category
        },
        "notes": notes(predictions, scores, rules),
    }
    if rules.published:
        result["published"] = published_numbers(scores)
    return result


def published_numbers(scores: Sequence[PredictionScore]) -> dict[str, Any]:
    """The numbers under the names and with the rounding of the released scorer."""
    rounded: dict[str, Any] = {}
    for name, measure in PUBLISHED_NAMES.items():
        values = [v for v in measure_values(scores, measure) if not np.isnan(v)]
        rounded[name] = round(sum(values) / len(values), 3) if values else None
    return rounded


def notes(
    predictions: Sequence[Prediction], scores: Sequence[PredictionScore], rules: Rules
) -> dict[str, Any]:
    """What a stated rule had to decide, counted; lists are of qids."""
    scored = [(p, d) for p in predictions for d in scored_documents(p, rules)]
    return {
        "without_documents": [s.qid for s in scores if s.category is None],
        "nothing_shown": sum(
            bool(p.question.documents) and not chosen_documents(p, rules.documents)
            for p in predictions
        ),
        "shown_unknown": sum(p.docs is None for p in predictions),
        "empty_answers": sum(not p.gen_answer.strip() for p in predictions),
        "bearers": len(scored),
        "bearers_not_scored": sum(len(p.question.documents) for p in predictions) - len(scored),
        "documents_without_answer": sum(len(without_answer(p, rules)) for p in predictions),
        "answers_of_stop_words": sum(
            not content_tokens(d.answer or "", language=rules_for(p, rules).language)
            for p, d in scored
        ),
        "titles_equal_to_the_name": sum(
            not distinguishing_tokens(
                d.title,
                surface_name(p.question.ambiguous_entity),
                rules_for(p, rules).language,
            )
            for p, d in scored
        ),
        "questions_without_the_name": sum(
            surface_name(p.question.ambiguous_entity) not in p.question.question.lower()
            for p in predictions
        ),
        "never_exact": sum(
            never_exact(
                [d.answers() for d in p.question.documents if d.answer is not None],
                p.wrong_answers,
            )
            for p in predictions
        ),
    }
