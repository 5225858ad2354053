"""The span that KILT's released program finds, with its quirks; for agreement, not for use.

What it does otherwise than the paper says: it looks at three paragraphs only, the end of an exact
match overshoots, a run of equal tokens swallows the token after it, and of spans with equal scores a
new one is taken only when it is two tokens shorter. See `spans` for what the paper says.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whichone.papers.kilt.mapping.bleu import without_blanks
from whichone.papers.kilt.mapping.grams import EvidenceGrams, GrowingSpan
from whichone.papers.kilt.mapping.tokens import Tokenizer, normal_token, white_space
from whichone.text.normalisers import normalize_for_mapping

CANDIDATES = 3
NOWHERE = -1


class PublishedMatch(msgspec.Struct, frozen=True):
    """Paragraph, characters and score; -1 represents what the program cannot say."""

    paragraph: int
    start: int
    end: int
    bleu: float
    crashed: bool = False
    """The released program fails here with an IndexError; the end is that of the last token."""


class _Paragraph(msgspec.Struct, frozen=True):
    words: list[str]
    starts: list[int]


class _Matcher:
    """One answer against the paragraphs of one page."""

    def __init__(self, answer: str, tokenizer: Tokenizer | None, normalize: bool) -> None:
        self.answer = answer
        self.places = tokenizer is not None
        self._tokenizer = tokenizer or white_space
        self._normalize = normalize
        self.wanted = normalize_for_mapping(answer) if normalize else answer
        self.tokens = self.paragraph(self.wanted).words

    def paragraph(self, text: str) -> _Paragraph:
        pieces = self._tokenizer(text)
        words = [normal_token(piece) if self._normalize else piece for piece, _ in pieces]
        return _Paragraph(words, [start for _, start in pieces])

    def verbatim(self, number: int, text: str) -> PublishedMatch | None:
        """The normalised answer, else the answer itself; the end is counted on the latter."""
        for form in (self.wanted, self.answer):
            start = text.find(form)
            if start >= 0:
                return PublishedMatch(number, start, start + len(self.answer), 1.0)
        return None

    def overlap(self, paragraph: _Paragraph) -> int:
        return len(set(self.tokens) & set(paragraph.words))

    def joined(self, number: int, paragraph: _Paragraph) -> PublishedMatch | None:
        """The answer's tokens side by side once empty ones are left out."""
        kept = [n for n, word in enumerate(paragraph.words) if word]
        text = " ".join(paragraph.words[n] for n in kept)
        answer = " ".join(word for word in self.tokens if word)
        start = text.find(answer)
        if start < 0 or not kept:
            return None
        first = text.count(" ", 0, start)
        last = text.count(" ", 0, max(start, start + len(answer) - 1))
        end = kept[last]
        return PublishedMatch(
            number,
            paragraph.starts[kept[first]],
            paragraph.starts[end] + len(paragraph.words[end]),
            1.0,
        )


def match_answer(
    answer: str,
    paragraphs: Sequence[str],
    tokenizer: Tokenizer | None = None,
    *,
    normalize: bool = True,
    fast: bool = False,
) -> PublishedMatch:
    """What the released program returns; without a tokenizer pieces between blanks have no places."""
    matcher = _Matcher(answer, tokenizer, normalize)
    read: list[_Paragraph] = []
    overlaps: list[int] = []
    for number, text in enumerate(paragraphs):
        if span := matcher.verbatim(number, text):
            return span
        paragraph = matcher.paragraph(text)
        shared = matcher.overlap(paragraph)
        if shared == len(matcher.tokens) and (span := matcher.joined(number, paragraph)):
            return span
        read.append(paragraph)
        overlaps.append(shared)
    candidates = _candidates(overlaps)
    if fast or not candidates:
        first = candidates[0] if candidates else NOWHERE
        return PublishedMatch(first, NOWHERE, NOWHERE, NOWHERE)
    return _search(matcher, read, candidates)


def _candidates(overlaps: Sequence[int]) -> list[int]:
    """Paragraphs by falling overlap, whole groups of equal overlap until there are three."""
    chosen: list[int] = []
    for overlap in sorted(set(overlaps), reverse=True):
        chosen += [n for n, overlap_found in enumerate(overlaps) if overlap_found == overlap]
        if len(chosen) >= CANDIDATES:
            break
    return chosen


class _Best(msgspec.Struct):
    score: float = 0.0
    paragraph: int = NOWHERE
    first: int = NOWHERE
    last: int = NOWHERE


def _search(
    matcher: _Matcher, paragraphs: Sequence[_Paragraph], candidates: Sequence[int]
) -> PublishedMatch:
    best = _Best()
    for number in candidates:
        run = _run(paragraphs[number].words, matcher.tokens)
        if run is not None:  # the end is exclusive here and taken as inclusive below
            best = _Best(1.0, number, run, run + len(matcher.tokens))
        elif best.score < 1.0:
            _spans(number, paragraphs[number].words, matcher.tokens, best)
    if best.paragraph < 0 or not matcher.places:
        return PublishedMatch(best.paragraph, NOWHERE, NOWHERE, best.score)
    paragraph = paragraphs[best.paragraph]
    crashed = best.last >= len(paragraph.words)
    last = min(best.last, len(paragraph.words) - 1)
    end = paragraph.starts[last] + len(paragraph.words[last])
    return PublishedMatch(best.paragraph, paragraph.starts[best.first], end, best.score, crashed)


def _run(words: Sequence[str], wanted: Sequence[str]) -> int | None:
    size = len(wanted)
    starts = range(len(words) - size + 1)
    return next((n for n in starts if list(words[n : n + size]) == list(wanted)), None)


def _spans(number: int, words: Sequence[str], wanted: Sequence[str], best: _Best) -> None:
    """Every span of a paragraph in turn, until one has BLEU 1; matches are counted up."""
    grams = EvidenceGrams(without_blanks(wanted))
    for first in range(len(words)):
        span = GrowingSpan(grams)
        for last in range(first, len(words)):
            if words[last].strip():
                span.add(words[last])
            score = span.score()
            tie = score == best.score and best.first != 0
            shorter = last - first < best.last - best.first - 1
            if score > best.score or best.score == 0 or (tie and shorter):
                best.score, best.paragraph = score, number
                best.first, best.last = first, last
            if best.score == 1.0:
                return
