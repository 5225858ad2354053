"""Do the categories mean something? Measures within them, and what another threshold would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from whichone.measures.intervals import interval
from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Category, Threshold
from whichone.papers.ambigdocs.scores.rules import DEFAULT, Rules
from whichone.papers.ambigdocs.scores.score import MEASURES, PredictionScore, score_prediction
from whichone.papers.ambigdocs.scores.summary import measure_values

THRESHOLDS = {
    "1 token (the paper's)": Threshold(),
    "2 tokens": Threshold(tokens=2),
    "3 tokens": Threshold(tokens=3),
    "a quarter": Threshold(fraction=0.25),
    "half": Threshold(fraction=0.5),
    "all": Threshold(fraction=1.0),
}


def means_within_categories(
    scores: Sequence[PredictionScore], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The mean of each measure within each category: a valid category orders them as it should."""
    all_means: dict[str, dict[str, Any]] = {}
    for category in Category:
        rows = [n for n, score in enumerate(scores) if score.category is category]
        inside = [scores[n] for n in rows]
        groups = [names[n] for n in rows]
        means = {measure: interval(measure_values(inside, measure), groups) for measure in MEASURES}
        all_means[category.value] = {
            "n": len(rows),
            **{measure: mean.brief() for measure, mean in means.items() if mean.n},
        }
    return all_means


def threshold_sensitivity(
    predictions: Sequence[Prediction], rules: Rules = DEFAULT
) -> dict[str, dict[str, Any]]:
    """The category shares under other thresholds, and the share of answers that change category."""
    paper = [score_prediction(p, rules).category for p in predictions]
    scored = sum(category is not None for category in paper)
    sensitivity: dict[str, dict[str, Any]] = {}
    for name, threshold in THRESHOLDS.items():
        other = msgspec.structs.replace(rules, threshold=threshold)
        categories = [score_prediction(p, other).category for p in predictions]
        counts = Counter(categories)
        changed = sum(a is not b for a, b in zip(paper, categories, strict=True))
        sensitivity[name] = {
            "changed": changed / scored if scored else None,
            "categories": {c.value: counts[c] for c in Category},
        }
    return sensitivity
