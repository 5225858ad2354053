"""AmbER's measures of an answer: its normaliser parts words at a hyphen, SQuAD's joins them."""

from __future__ import annotations

from whichone.measures.answer_measures import of_text, token_f1
from whichone.text import normalisers


def _exact(text: str, golds: set[str]) -> float:
    return float(normalisers.amber_normalize(text) in map(normalisers.amber_normalize, golds))


def _f1(text: str, golds: set[str]) -> float:
    words = normalisers.amber_tokens(text)
    return max(token_f1(words, normalisers.amber_tokens(gold)) for gold in golds)


amber_exact_match = of_text("amber_em", _exact)
"""The answer is an accepted one after AmbER's normaliser."""
amber_f1 = of_text("amber_f1", _f1)
"""Bag-of-words F1 with the best accepted answer, AmbER's normaliser."""
