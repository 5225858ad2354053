"""The n-grams of a piece of evidence, and how many of them a growing span has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from whichone.papers.kilt.mapping.bleu import (
    MAX_ORDER,
    brevity_penalty,
    ngrams,
    score,
)

Counts = tuple[int, ...]
"""Matches by order."""


class EvidenceGrams:
    """The evidence's n-grams, and scores of match counts, each computed once."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.size = len(tokens)
        self.orders = min(MAX_ORDER, self.size)
        self.grams = [ngrams(tokens, order + 1) for order in range(self.orders)]
        self._values: dict[Counts, float] = {}

    def bound(self, words: Sequence[str]) -> float:
        """No span of these words scores higher."""
        if not any((word,) in self.grams[0] for word in words):
            return 0.0
        return self.value(
            tuple(
                (self.grams[order] & ngrams(words, order + 1)).total()
                for order in range(self.orders)
            )
        )

    def value(self, matches: Counts) -> float:
        """The score of match counts before the brevity penalty."""
        value = self._values.get(matches)
        if value is None:
            value = self._values[matches] = score(matches, 0, self.size)
        return value

    def suffixes(self, words: Sequence[str]) -> list[Counts]:
        """For each place the matches that the rest of the paragraph contains."""
        left = [Counter(grams) for grams in self.grams]
        matches = [0] * self.orders
        suffixes: list[Counts] = [()] * len(words)
        for first in range(len(words) - 1, -1, -1):
            for order in range(min(self.orders, len(words) - first)):
                gram = tuple(words[first : first + order + 1])
                if left[order].get(gram):
                    left[order][gram] -= 1
                    matches[order] += 1
            suffixes[first] = tuple(matches)
        return suffixes


class GrowingSpan:
    """A span that words are added to at its end, with the matches it has so far."""

    def __init__(self, wanted: EvidenceGrams) -> None:
        self._wanted = wanted
        self._left = [Counter(grams) for grams in wanted.grams]
        self._tail: tuple[str, ...] = ()
        self._matches = [0] * wanted.orders
        self.size = 0

    def add(self, word: str) -> None:
        """Count the n-grams that end with the word."""
        self.size += 1
        self._tail = (*self._tail[1 - MAX_ORDER :], word)
        for order in range(min(len(self._tail), self._wanted.orders)):
            gram = self._tail[-order - 1 :]
            remaining = self._left[order].get(gram)
            if remaining:
                self._left[order][gram] = remaining - 1
                self._matches[order] += 1
            elif remaining is None and order == 0:
                return  # a word that the evidence does not have ends none of its n-grams

    def penalty(self) -> float:
        return brevity_penalty(self.size, self._wanted.size)

    def score(self) -> float:
        """The BLEU of the span, the very float that `bleu` gives."""
        if not self._matches or not self._matches[0]:
            return 0.0
        return self.penalty() * self._wanted.value(tuple(self._matches))
