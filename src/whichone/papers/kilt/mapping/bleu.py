"""BLEU between a span and the original evidence, as KILT's mapping computes it.

The span is the reference and the original the hypothesis, so that the brevity penalty punishes long
spans. Orders are weighted equally up to 4, or up to the original's length when that is less. There is
no smoothing: an order without a match counts as the smallest positive float, so that such scores are
about 1e-78 or less, not 0; without a common word the score is 0.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence

MAX_ORDER = 4
_LEAST = math.log(sys.float_info.min)


def without_blanks(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token.strip()]


def ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def bleu(span: Sequence[str], original: Sequence[str]) -> float:
    """Of token lists; tokens of nothing but blanks are left out first."""
    reference, hypothesis = without_blanks(span), without_blanks(original)
    if not hypothesis:
        return 0.0
    orders = min(MAX_ORDER, len(hypothesis))
    matches = [(ngrams(hypothesis, n) & ngrams(reference, n)).total() for n in range(1, orders + 1)]
    return score(matches, len(reference), len(hypothesis))


def score(matches: Sequence[int], reference: int, hypothesis: int) -> float:
    """From the clipped matches of each order and the two lengths."""
    if not matches[0]:
        return 0.0
    weight = 1.0 / len(matches) if hypothesis < MAX_ORDER else 0.25
    logs = (
        weight * (math.log(matching_grams / (hypothesis - n)) if matching_grams else _LEAST)
        for n, matching_grams in enumerate(matches)
    )
    return brevity_penalty(reference, hypothesis) * math.exp(math.fsum(logs))


def brevity_penalty(reference: int, hypothesis: int) -> float:
    return 1.0 if hypothesis > reference else math.exp(1 - reference / hypothesis)
