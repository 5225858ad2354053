"""Each sentence of an answer with the bearer it speaks of."""

from __future__ import annotations

import msgspec

from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Mention
from whichone.papers.ambigdocs.scores.rules import DEFAULT, Rules, rules_for, scored_documents
from whichone.papers.ambigdocs.scores.score import BearerScore, generated_text, score_bearer
from whichone.text.normalisers import sentences, surface_name


class MatchedSentence(msgspec.Struct, frozen=True):
    """A sentence; `bearer` is the number of the scored document it matches, None for none."""

    text: str
    bearer: int | None = None
    mention: Mention = Mention.ABSENT


def matched_sentences(prediction: Prediction, rules: Rules = DEFAULT) -> list[MatchedSentence]:
    """Every sentence with the bearer whose answer it gives.

    A bearer that is named beside its answer goes before one that is not, then the higher recall.
    """
    name = surface_name(prediction.question.ambiguous_entity)
    rules = rules_for(prediction, rules)
    documents = scored_documents(prediction, rules)
    matching = []
    for text in sentences(generated_text(prediction), rules.language):
        scores = [score_bearer(document, name, text, rules) for document in documents]
        best = max(range(len(scores)), key=lambda n: (_rank(scores[n]), -n), default=None)
        if best is None or scores[best].mention is Mention.ABSENT:
            matching.append(MatchedSentence(text))
        else:
            matching.append(MatchedSentence(text, best, scores[best].mention))
    return matching


def _rank(score: BearerScore) -> tuple[int, float, float]:
    order = {Mention.PAIRED: 2, Mention.UNPAIRED: 1, Mention.ABSENT: 0}
    return order[score.mention], score.entity_answer_recall, score.answer_recall
