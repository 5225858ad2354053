"""Accuracy, exact match, F1 and ROUGE-L of one answer against all gold answers: the best counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from whichone.measures.token_overlap import token_f1
from whichone.text import rouge, squad

AnswerScores = tuple[float, float, float, float]
"""Accuracy, exact match, F1, ROUGE-L."""

WRONG: AnswerScores = (0.0, 0.0, 0.0, 0.0)
_PERFECT_ROUGE_L = 2.0 * (1.0 / (1.0 + 1.0 + 1e-8))


def gold_answers(outputs: Iterable[Any]) -> set[str]:
    """The distinct stripped texts; nulls and empty texts are none.

    TypeError where an answer is something else than text.
    """
    answers = set()
    for output in outputs:
        answer = output.answer
        if answer is UNSET or not answer:
            continue
        if type(answer) is not str:
            raise TypeError(f"the gold answer {answer!r} is not text")
        if stripped := answer.strip():
            answers.add(stripped)
    return answers


def answer_scores(answer: str, golds: set[str]) -> AnswerScores:
    """Scores of a stripped, non-empty answer against at least one gold answer."""
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
