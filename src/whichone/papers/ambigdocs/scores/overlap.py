"""Overlap of two bags of content tokens: precision, recall and F1 as AmbigDocs counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from whichone.text.normalisers import content_tokens

_NO_PARENTHESES = str.maketrans("", "", "()")


class Overlap(NamedTuple):
    precision: float
    recall: float
    f1: float


def overlap(gold: Sequence[str], predicted: Sequence[str]) -> Overlap:
    """Two empty bags agree fully; an empty bag and a filled one not at all."""
    if not gold or not predicted:
        same = float(not gold and not predicted)
        return Overlap(same, same, same)
    shared = (Counter(gold) & Counter(predicted)).total()
    if shared == 0:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = shared / len(predicted), shared / len(gold)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))


def text_overlap(gold: str, predicted: str, language: str = "en") -> Overlap:
    """Overlap of the content tokens of two texts."""
    return overlap(
        content_tokens(gold, language=language), content_tokens(predicted, language=language)
    )


def distinguishing_tokens(title: str, name: str, language: str = "en") -> list[str]:
    """What tells this bearer from the others: its title's tokens without any of the name's."""
    return content_tokens(title, content_tokens(name, language=language), language)


def entity_overlap(
    title: str, predicted: str, name: str, *, published: bool = True, language: str = "en"
) -> Overlap:
    """Overlap of what distinguishes a bearer with a text.

    A title that is nothing but the shared name (and stop words) has nothing that distinguishes it;
    it counts as named when the text contains it letter by letter, case aside. The released scorer
    deletes the title's parentheses but not the text's, so that "KSGF (AM)" is never found.
    """
    tokens = distinguishing_tokens(title, name, language)
    if tokens:
        return overlap(tokens, content_tokens(predicted, language=language))
    text = predicted if published else predicted.translate(_NO_PARENTHESES)
    hit = float(title.translate(_NO_PARENTHESES).lower() in text.lower())
    return Overlap(hit, hit, hit)
