"""AmbigDocs' measures as columns of the table of scores: recalls, and one for each category."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from whichone.measures.measure import Answered, Measure, no_depth
from whichone.papers.ambigdocs.queries import question_of, shown_document
from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.papers.ambigdocs.scores.score import PredictionScore, score_prediction
from whichone.records import Passage

TASK = "ambigdocs"


def prediction_of(answered: Answered) -> Prediction:
    """An answer with the passages shown, as AmbigDocs' own files hold it."""
    find = answered.passage
    assert find is not None
    query = answered.query
    return Prediction(
        question=question_of(query, _or_none(find), answered.shown),
        gen_answer=answered.text or "",
        docs=tuple(shown_document(find(identity)) for identity in answered.shown),
        wrong_answers=tuple(query.attributes.get("wrong_answers", ())),
    )


def _or_none(find: Callable[[str], Passage]) -> Callable[[str], Passage | None]:
    def look(identity: str) -> Passage | None:
        try:
            return find(identity)
        except KeyError:
            return None

    return look


class _ById:
    """A query's answer, distinguished by identity: the same object is scored once for all measures."""

    def __init__(self, answered: Answered) -> None:
        self.answered = answered

    def __hash__(self) -> int:
        return id(self.answered)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.answered is self.answered


@lru_cache(maxsize=4)
def _scored(key: _ById) -> PredictionScore:
    return score_prediction(prediction_of(key.answered))


def _measure(
    name: str, value: Callable[[PredictionScore], float | None]
) -> Callable[[int | None], Measure]:
    def of(answered: Answered) -> float | None:
        return value(_scored(_ById(answered))) if answered.query.task == TASK else None

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, of, of="answers")

    return measure


def _recall(name: str) -> Callable[[int | None], Measure]:
    return _measure(name, lambda score: getattr(score, name))


def _category(name: str, category: Category) -> Callable[[int | None], Measure]:
    def value(score: PredictionScore) -> float | None:
        return None if score.category is None else float(score.category is category)

    return _measure(name, value)


answer_recall = _recall("answer_recall")
"""AmbigDocs: how much of each shown bearer's answer the text contains."""
entity_recall = _recall("entity_recall")
"""AmbigDocs: how much of what tells each shown bearer apart the text contains."""
entity_answer_recall = _recall("entity_answer_recall")
"""AmbigDocs: answer recall times entity recall, bearer by bearer."""
knowledge_precision = _recall("knowledge_precision")
"""AmbigDocs: the share of the text's words that appear in what was shown."""
str_em = _recall("str_em")
"""The share of the shown bearers' answers that appear in the text."""
ramdocs_em = _recall("ramdocs_em")
"""RAMDocs: all gold answers and no wrong one appear in the text."""
complete = _category("complete", Category.COMPLETE)
"""AmbigDocs: every bearer is answered and named."""
partial = _category("partial", Category.PARTIAL)
"""AmbigDocs: some bearers are answered and named, no answer is given without its bearer."""
ambiguous = _category("ambiguous", Category.AMBIGUOUS)
"""AmbigDocs: one answer without its bearer."""
merged = _category("merged", Category.MERGED)
"""AmbigDocs: several answers, not all of them beside their bearers."""
no_answer = _category("no_answer", Category.NO_ANSWER)
"""AmbigDocs: no bearer is answered."""
