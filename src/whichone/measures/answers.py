"""Measures of one answer against one query's gold answers, its gold pages, and its namesakes' values.

`em` and `f1` use SQuAD's normaliser, as KILT does; measures of one paper alone are in its folder. A refusal and a failure are wrong. Without a gold answer no measure of the text applies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whichone.measures.measure import Answered, Measure, no_depth
from whichone.measures.retrieval import first_rank
from whichone.text import normalisers

AnswerScores = tuple[float, float, float, float]
"""Accuracy, exact match, F1, ROUGE-L."""

WRONG: AnswerScores = (0.0, 0.0, 0.0, 0.0)
_PERFECT_ROUGE_L = 2.0 * (1.0 / (1.0 + 1.0 + 1e-8))


def answer_scores(answer: str, golds: set[str]) -> AnswerScores:
    """Scores of a stripped, non-empty answer against at least one gold answer, as KILT computes them."""
    words = normalisers.squad_tokens(answer)
    if answer in golds:
        return 1.0, 1.0, 1.0 if words else 0.0, _PERFECT_ROUGE_L if answer.strip(".") else 0.0
    exact = f1 = 0.0
    for gold in golds:
        gold_words = normalisers.squad_tokens(gold)
        if words == gold_words:
            exact = 1.0
        f1 = max(f1, token_f1(words, gold_words))
    sentences = normalisers.sentence_words(answer)
    rouge_l = normalisers.best_rouge_l(sentences, map(normalisers.sentence_words, golds))
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


def gold_answers(query: Answered) -> set[str]:
    """Every accepted answer, stripped; empty ones are none."""
    return {text for answer in query.query.answers() if (text := answer.strip())}


Value = Callable[[str, set[str]], float]
Maker = Callable[[int | None], Measure]


def of_text(name: str, value: Value) -> Maker:
    """A measure of what was said; KILT's rules: nothing said is wrong."""

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, lambda a: text_value(a, value), of="answers")

    return measure


def text_value(answered: Answered, value: Value) -> float | None:
    """The value of what was said; None without a gold answer, 0 where nothing was said."""
    golds = gold_answers(answered)
    if not golds:
        return None
    text = (answered.text or "").strip()
    return value(text, golds) if text else 0.0


def accuracy_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[0]


def exact_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[1]


def f1_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[2]


def rouge_l_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[3]


accuracy = of_text("accuracy", accuracy_value)
"""The answer is an accepted one, letter by letter."""
exact_match = of_text("em", exact_value)
"""The answer is an accepted one after SQuAD's normaliser (KILT's)."""
f1 = of_text("f1", f1_value)
"""Bag-of-words F1 with the best accepted answer, SQuAD's normaliser (KILT's)."""
rouge_l = of_text("rouge_l", rouge_l_value)
"""ROUGE-L with the best accepted answer, as KILT computes it."""


def refusal(k: int | None) -> Measure:
    """The reader says that it has no answer; a failure is none."""
    no_depth("refusal", k)
    return Measure(
        "refusal", lambda a: float(a.text is None and a.asks is None and not a.failed), of="answers"
    )


def cited_gold(k: int | None) -> Measure:
    """The first passage that the answer rests on is of a gold page; None where it cites nothing."""
    no_depth("cited_gold", k)

    def value(answered: Answered) -> float | None:
        if not answered.cited or not answered.gold:
            return None
        return float(first_rank(answered.cited[:1], answered.gold) is not None)

    return Measure("cited_gold", value, of="answers")
