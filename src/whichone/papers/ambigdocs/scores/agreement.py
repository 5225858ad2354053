"""Agreement of the automatic categories with people: Cohen's kappa, confusions, disagreements."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whichone.errors import BadInput, did_you_mean
from whichone.measures.comparison import cohen_kappa
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.papers.ambigdocs.scores.score import PredictionScore

REPLICATES = 1000


def read_labels(path: str | Path) -> dict[str, Category]:
    """A person's categories: a CSV file with the columns qid and category."""
    labels: dict[str, Category] = {}
    path = Path(path)
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        if not {"qid", "category"} <= set(rows.fieldnames or ()):
            raise BadInput("the columns qid and category are expected", file=path, line=1)
        for line, row in enumerate(rows, 2):
            label = (row["category"] or "").strip().lower()
            if label not in list(Category):
                raise BadInput(
                    f"{label!r} is no category",
                    file=path,
                    line=line,
                    hint=did_you_mean(label, [c.value for c in Category]),
                )
            if row["qid"] in labels:
                raise BadInput(f"{row['qid']} is labelled twice", file=path, line=line)
            labels[row["qid"]] = Category(label)
    return labels


def agreement(
    scores: Sequence[PredictionScore],
    labels: Mapping[str, Category],
    names: Sequence[str],
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Kappa with a 95 % interval over resampled names, the confusion matrix, the disagreements."""
    rows = [
        (score.qid, score.category, labels[score.qid], name)
        for score, name in zip(scores, names, strict=True)
        if score.category is not None and score.qid in labels
    ]
    if not rows:
        raise BadInput("no labelled question is among the predictions")
    without = len(labels.keys() - {score.qid for score in scores})
    return {**compare_labels(rows, seed=seed), "labels_without_prediction": without}


def compare_labels(
    rows: Sequence[tuple[str, Category, Category, str]], *, seed: int = 0
) -> dict[str, Any]:
    """The same for rows of qid, automatic category, people's category, and the name asked about."""
    automatic, people = [a for _, a, _, _ in rows], [p for _, _, p, _ in rows]
    low, high = _interval([(a, p, name) for _, a, p, name in rows], seed)
    matrix = Counter(zip(people, automatic, strict=True))
    return {
        "questions": len(rows),
        "kappa": {
            "value": cohen_kappa(automatic, people),
            "low": low,
            "high": high,
            "n": len(rows),
        },
        "agree": sum(a is p for a, p in zip(automatic, people, strict=True)) / len(rows),
        "confusion": {p.value: {a.value: matrix[p, a] for a in Category} for p in Category},
        "disagreements": [
            {"qid": qid, "automatic": a.value, "people": p.value}
            for qid, a, p, _ in rows
            if a is not p
        ],
    }


def _interval(
    rows: Sequence[tuple[Category, Category, str]], seed: int
) -> tuple[float | None, float | None]:
    groups: dict[str, list[tuple[Category, Category]]] = {}
    for automatic, person, name in rows:
        groups.setdefault(name, []).append((automatic, person))
    if len(groups) < 2:
        return None, None
    members = list(groups.values())
    generator = np.random.default_rng(seed)
    values = []
    for _ in range(REPLICATES):
        drawn = generator.integers(0, len(members), len(members))
        pairs = [pair for place in drawn for pair in members[place]]
        value = cohen_kappa([a for a, _ in pairs], [p for _, p in pairs])
        if value is not None:
            values.append(value)
    if not values:
        return None, None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
