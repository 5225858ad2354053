"""Bag-of-words F1, the measure SQuAD made common."""

from __future__ import annotations

from collections.abc import Sequence


def token_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over tokens; 0 without overlap, also for two empty bags."""
    if not prediction or not gold:
        return 0.0
    if prediction == gold:
        return 1.0
    left: dict[str, int] = {}
    for token in gold:
        left[token] = left.get(token, 0) + 1
    common = 0
    for token in prediction:
        if left.get(token, 0):
            left[token] -= 1
            common += 1
    if common == 0:
        return 0.0
    precision = common / len(prediction)
    recall = common / len(gold)
    return (2 * precision * recall) / (precision + recall)
