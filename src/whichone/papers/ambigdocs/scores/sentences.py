"""Each sentence of an answer with the bearer it speaks of."""

from __future__ import annotations

import re

import msgspec

from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Mention
from whichone.papers.ambigdocs.scores.rules import DEFAULT, Rules, scored_documents
from whichone.papers.ambigdocs.scores.score import BearerScore, generated_text, score_bearer
from whichone.text.ambigdocs import surface_name

_BREAK = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_ABBREVIATION = re.compile(r"(?:^|[\s(.])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|no|No)\.$")


class MatchedSentence(msgspec.Struct, frozen=True):
    """A sentence; `bearer` is the number of the scored document it matches, None for none."""

    text: str
    bearer: int | None = None
    mention: Mention = Mention.ABSENT


def sentences(text: str) -> list[str]:
    """A text cut after full stops, semicolons, question and exclamation marks.

    A stop after an initial or a common abbreviation ends no sentence.
    """
    kept_sentences: list[str] = []
    for part in _BREAK.split(text.strip()):
        if kept_sentences and _ABBREVIATION.search(kept_sentences[-1]):
            kept_sentences[-1] += f" {part}"
        elif part:
            kept_sentences.append(part)
    return kept_sentences


def matched_sentences(prediction: Prediction, rules: Rules = DEFAULT) -> list[MatchedSentence]:
    """Every sentence with the bearer whose answer it gives.

    A bearer that is named beside its answer goes before one that is not, then the higher recall.
    """
    name = surface_name(prediction.question.ambiguous_entity)
    documents = scored_documents(prediction, rules)
    matching = []
    for text in sentences(generated_text(prediction)):
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
