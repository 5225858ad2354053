"""The span of a page with the highest BLEU, the shortest on ties, as KILT's paper says.

Exhaustively that is a BLEU for each of the n² spans of each paragraph. Here almost all of them are
never looked at, and the result is the same:

- a best span begins and ends with a word of the original: any other end could be cut off without
  losing a match;
- a paragraph, or the rest of one, holds no span better than the one that has all of its n-gram
  matches and no brevity penalty, so paragraphs come in the order of that bound and stop below it;
- beyond the original's length the brevity penalty only grows, so an end that it puts below the best
  score ends the search from that start;
- matches are counted up as a span grows, not anew for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from whichone.benchmarks.kilt.mapping.bleu import (
    MAX_ORDER,
    bleu,
    brevity_penalty,
    ngrams,
    score,
)
from whichone.benchmarks.kilt.mapping.tokens import Token, Tokenizer, tokenize, words

THRESHOLD = 0.5
"""Evaluation sets keep an output when all of its spans reach it."""


class Span(msgspec.Struct, frozen=True):
    """Where the evidence stands: paragraph, characters (the end exclusive), and its BLEU."""

    paragraph: int
    start: int
    end: int
    bleu: float
    tokens: int = 0


Page = Sequence[Sequence[Token]]
"""The tokens of a page's paragraphs."""
Key = tuple[float, int, int, int, int]
"""Score (negative), length, paragraph, first and last token: the least is the best."""
Counts = tuple[int, ...]
"""Matches by order."""


def page_tokens(paragraphs: Sequence[str], tokenizer: Tokenizer = words) -> Page:
    return [tokenize(text, tokenizer) for text in paragraphs]


def best_span(
    evidence: str,
    paragraphs: Sequence[str],
    tokens: Page | None = None,
    tokenizer: Tokenizer = words,
) -> Span | None:
    """The best span of a page; None when no paragraph has a word of the evidence."""
    if found := verbatim(evidence, paragraphs):
        return found
    page = tokens if tokens is not None else page_tokens(paragraphs, tokenizer)
    original = [token.text for token in tokenize(evidence, tokenizer)]
    return search(original, page)


def verbatim(evidence: str, paragraphs: Sequence[str]) -> Span | None:
    """The evidence itself, letter by letter, between characters that are no part of a word."""
    text = evidence.strip()
    if not text:
        return None
    for number, paragraph in enumerate(paragraphs):
        start = paragraph.find(text)
        while start >= 0:
            if _whole_words(paragraph, start, start + len(text)):
                return Span(number, start, start + len(text), 1.0, len(tokenize(text)))
            start = paragraph.find(text, start + 1)
    return None


def _whole_words(text: str, start: int, end: int) -> bool:
    """Whether neither end of a stretch cuts a word in two."""
    cuts = ((start - 1, start), (end - 1, end))
    return not any(
        left >= 0 and right < len(text) and text[left].isalnum() and text[right].isalnum()
        for left, right in cuts
    )


def exhaustive(original: Sequence[str], page: Page) -> Span | None:
    """Every span of every paragraph, one BLEU each: what `search` must agree with."""
    best: Key | None = None
    for number, tokens in enumerate(page):
        words = [token.text for token in tokens]
        for first in range(len(words)):
            for last in range(first, len(words)):
                found = bleu(words[first : last + 1], original)
                key = (-found, last - first + 1, number, first, last)
                if found > 0 and (best is None or key < best):
                    best = key
    return _span(best, page) if best else None


def search(original: Sequence[str], page: Page) -> Span | None:
    """The same span as `exhaustive`, without looking at most of them."""
    if not original:
        return None
    wanted = _Original(original)
    bounds = sorted(
        (-bound, number)
        for number, tokens in enumerate(page)
        if (bound := wanted.bound([token.text for token in tokens])) > 0
    )
    best: Key | None = None
    for bound, number in bounds:
        if best is not None and bound > best[0]:
            break
        best = wanted.search(page[number], number, best)
    return _span(best, page) if best else None


def _span(best: Key, page: Page) -> Span:
    negative, size, number, first, last = best
    tokens = page[number]
    return Span(number, tokens[first].start, tokens[last].end, -negative, size)


class _Original:
    """The evidence's n-grams, numbered, and scores of match counts, each computed once."""

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
        found = self._values.get(matches)
        if found is None:
            found = self._values[matches] = score(matches, 0, self.size)
        return found

    def search(self, tokens: Sequence[Token], number: int, best: Key | None) -> Key | None:
        """The best span of one paragraph, if it is better than what is known."""
        words = [token.text for token in tokens]
        ends = [n for n, word in enumerate(words) if (word,) in self.grams[0]]
        suffixes = self._suffixes(words)
        for place, first in enumerate(ends):
            ceiling = self.value(suffixes[first])
            if best is not None and -ceiling > best[0]:
                break
            best = self._from(words, ends[place:], number, ceiling, best)
        return best

    def _from(
        self,
        words: Sequence[str],
        ends: Sequence[int],
        number: int,
        ceiling: float,
        best: Key | None,
    ) -> Key | None:
        """Spans that begin at the first of `ends` and end at any of them."""
        first, position = ends[0], ends[0]
        left = [Counter(grams) for grams in self.grams]
        matches = [0] * self.orders
        for last in ends:
            while position <= last:
                self._grow(words, first, position, left, matches)
                position += 1
            size = last - first + 1
            penalty = brevity_penalty(size, self.size)
            if best is not None and size > self.size and -(penalty * ceiling) > best[0]:
                break
            found = penalty * self.value(tuple(matches))
            key = (-found, size, number, first, last)
            if best is None or key < best:
                best = key
        return best

    def _grow(
        self,
        words: Sequence[str],
        first: int,
        position: int,
        left: Sequence[Counter[tuple[str, ...]]],
        matches: list[int],
    ) -> None:
        """Count the n-grams that end at a word just taken into the span."""
        for order in range(self.orders):
            start = position - order
            if start < first:
                break
            gram = tuple(words[start : position + 1])
            remaining = left[order].get(gram)
            if remaining is None:
                if order == 0:
                    break
                continue
            if remaining:
                left[order][gram] = remaining - 1
                matches[order] += 1

    def _suffixes(self, words: Sequence[str]) -> list[Counts]:
        """For each place the matches that the rest of the paragraph holds."""
        left = [Counter(grams) for grams in self.grams]
        matches = [0] * self.orders
        found: list[Counts] = [()] * len(words)
        for first in range(len(words) - 1, -1, -1):
            for order in range(min(self.orders, len(words) - first)):
                gram = tuple(words[first : first + order + 1])
                if left[order].get(gram):
                    left[order][gram] -= 1
                    matches[order] += 1
            found[first] = tuple(matches)
        return found
