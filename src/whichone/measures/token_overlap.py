"""Accuracy, exact match, F1 and ROUGE-L of one answer against all accepted ones: the best counts."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.text import rouge, squad

AnswerScores = tuple[float, float, float, float]
"""Accuracy, exact match, F1, ROUGE-L."""

WRONG: AnswerScores = (0.0, 0.0, 0.0, 0.0)
_PERFECT_ROUGE_L = 2.0 * (1.0 / (1.0 + 1.0 + 1e-8))


def answer_scores(answer: str, golds: set[str]) -> AnswerScores:
    """Scores of a stripped, non-empty answer against at least one gold answer, as KILT computes them."""
    words = squad.tokens(answer)
    if answer in golds:
        return 1.0, 1.0, 1.0 if words else 0.0, _PERFECT_ROUGE_L if answer.strip(".") else 0.0
    exact = f1 = 0.0
    for gold in golds:
        gold_words = squad.tokens(gold)
        if words == gold_words:
            exact = 1.0
        f1 = max(f1, token_f1(words, gold_words))
    sentences = rouge.sentence_words(answer)
    rouge_l = rouge.best_rouge_l(sentences, map(rouge.sentence_words, golds))
    return 0.0, exact, f1, rouge_l


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
