"""The span of a page with the highest BLEU, the shortest on ties, as KILT's paper says.

Exhaustively that is a BLEU for each of the n² spans of each paragraph. Here almost all of them are
never looked at, and the result is the same:

- a best span begins and ends with a word of the original: any other end could be cut off without
  losing a match;
- a paragraph, or the rest of one, contains no span better than the one that has all of its n-gram
  matches and no brevity penalty, so paragraphs come in the order of that bound and stop below it;
- beyond the original's length the brevity penalty only grows, so an end that it puts below the best
  score ends the search from that start;
- matches are counted up as a span grows, not anew for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whichone.papers.kilt.mapping.bleu import bleu
from whichone.papers.kilt.mapping.grams import EvidenceGrams, GrowingSpan
from whichone.papers.kilt.mapping.tokens import Token, Tokenizer, tokenize, words

THRESHOLD = 0.5
"""Evaluation sets keep an output when all of its spans reach it."""


class Span(msgspec.Struct, frozen=True):
    """Where the evidence is: paragraph, characters (the end exclusive), and its BLEU."""

    paragraph: int
    start: int
    end: int
    bleu: float
    tokens: int = 0


Page = Sequence[Sequence[Token]]
"""The tokens of a page's paragraphs."""
Key = tuple[float, int, int, int, int]
"""Score (negative), length, paragraph, first and last token: the least is the best."""


def page_tokens(paragraphs: Sequence[str], tokenizer: Tokenizer = words) -> Page:
    return [tokenize(text, tokenizer) for text in paragraphs]


def best_span(
    evidence: str,
    paragraphs: Sequence[str],
    tokens: Page | None = None,
    tokenizer: Tokenizer = words,
) -> Span | None:
    """The best span of a page; None when no paragraph has a word of the evidence."""
    if span := verbatim(evidence, paragraphs):
        return span
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
                score = bleu(words[first : last + 1], original)
                key = (-score, last - first + 1, number, first, last)
                if score > 0 and (best is None or key < best):
                    best = key
    return _span(best, page) if best else None


def search(original: Sequence[str], page: Page) -> Span | None:
    """The same span as `exhaustive`, without looking at most of them."""
    if not original:
        return None
    wanted = EvidenceGrams(original)
    bounds = sorted(
        (-bound, number)
        for number, tokens in enumerate(page)
        if (bound := wanted.bound([token.text for token in tokens])) > 0
    )
    best: Key | None = None
    for bound, number in bounds:
        if best is not None and bound > best[0]:
            break
        best = _search_paragraph(wanted, page[number], number, best)
    return _span(best, page) if best else None


def _span(best: Key, page: Page) -> Span:
    negative, size, number, first, last = best
    tokens = page[number]
    return Span(number, tokens[first].start, tokens[last].end, -negative, size)


def _search_paragraph(
    wanted: EvidenceGrams, tokens: Sequence[Token], number: int, best: Key | None
) -> Key | None:
    """The best span of one paragraph, if it is better than what is known."""
    words = [token.text for token in tokens]
    ends = [n for n, word in enumerate(words) if (word,) in wanted.grams[0]]
    suffixes = wanted.suffixes(words)
    for place, first in enumerate(ends):
        ceiling = wanted.value(suffixes[first])
        if best is not None and -ceiling > best[0]:
            break
        best = _search_from(wanted, words, ends[place:], number, ceiling, best)
    return best


def _search_from(
    wanted: EvidenceGrams,
    words: Sequence[str],
    ends: Sequence[int],
    number: int,
    ceiling: float,
    best: Key | None,
) -> Key | None:
    """Spans that begin at the first of `ends` and end at any of them."""
    span = GrowingSpan(wanted)
    first = ends[0]
    for last in ends:
        for position in range(first + span.size, last + 1):
            span.add(words[position])
        longer = span.size > wanted.size
        if best is not None and longer and -(span.penalty() * ceiling) > best[0]:
            break
        key = (-span.score(), span.size, number, first, last)
        if best is None or key < best:
            best = key
    return best
