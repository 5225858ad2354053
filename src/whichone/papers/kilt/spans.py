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

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from whichone.errors import Missing, needs
from whichone.text.normalisers import normalize_for_mapping

MAX_ORDER = 4
_LEAST = math.log(sys.float_info.min)


def without_blanks(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token.strip()]


def ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def bleu(span: Sequence[str], original: Sequence[str]) -> float:
    """BLEU of a span and the original evidence, as KILT's mapping computes it; tokens of blanks are left out first.

    The span is the reference and the original the hypothesis, so that the brevity penalty punishes
    long spans. Orders are weighted equally up to 4, or up to the original's length when that is less.
    There is no smoothing: an order without a match counts as the smallest positive float, so that such
    scores are about 1e-78 or less, not 0; without a common word the score is 0.
    """
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


Counts = tuple[int, ...]  # Matches by order


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
            tuple((self.grams[order] & ngrams(words, order + 1)).total() for order in range(self.orders))
        )

    def value(self, matches: Counts) -> float:
        """The score of match counts before the brevity penalty."""
        if (value := self._values.get(matches)) is None:
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
            if remaining := self._left[order].get(gram):
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


_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
_CHARACTER_WORDS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana and Han stand without blanks
_WORD = re.compile(rf"[{_CHARACTER_WORDS}]|[^\W{_CHARACTER_WORDS}]+")
_THREE_BYTES = re.compile(r"[^\u0000-\u07ff]")

Tokenizer = Callable[[str], list[tuple[str, int]]]  # Tokens with the character each begins at


class PlacedToken(msgspec.Struct, frozen=True, gc=False):
    """A token as it is compared, and where it appears in its paragraph."""

    text: str
    start: int
    end: int


def words(text: str) -> list[tuple[str, int]]:
    """Runs of letters and digits; of scripts without blanks between words, single characters."""
    return [(match.group(), match.start()) for match in _WORD.finditer(text)]


def words_and_marks(text: str) -> list[tuple[str, int]]:
    """Runs of letters and digits, and every other visible character by itself."""
    return [(match.group(), match.start()) for match in _WORD_OR_MARK.finditer(text)]


def white_space(text: str) -> list[tuple[str, int]]:
    """What the released program falls back to: pieces without places, all said to begin at 0."""
    return [(piece, 0) for piece in text.split()]


def tokenize(text: str, tokenizer: Tokenizer = words) -> list[PlacedToken]:
    """Normalised tokens that are not empty, with the places of the whole tokens they come from."""
    return [
        PlacedToken(normal, start, start + len(piece))
        for piece, start in tokenizer(text)
        if (normal := normalize_for_mapping(piece))
    ]


def named_tokenizer(name: str) -> Tokenizer:
    """`words`, or `spacy` for the tokens that KILT's own mapping was made with."""
    return words if name == "words" else _spacy()


@cache
def _spacy() -> Tokenizer:
    with needs("spacy", "adapters"):
        import spacy
    try:
        pipeline: Any = spacy.blank("en")
    except (ImportError, OSError) as error:
        raise Missing(f"spaCy's English rules do not load: {error}") from error
    return lambda text: [(token.text, token.idx) for token in pipeline(text)]


THRESHOLD = 0.5  # Evaluation sets keep an output when all of its spans reach it


class EvidenceSpan(msgspec.Struct, frozen=True):
    """Where the evidence is: paragraph, characters (the end exclusive), and its BLEU."""

    paragraph: int
    start: int
    end: int
    bleu: float
    tokens: int = 0


Page = Sequence[Sequence[PlacedToken]]  # The tokens of a page's paragraphs
# Score (negative), length, paragraph, first and last token: the least is the best.
Key = tuple[float, int, int, int, int]


def page_tokens(paragraphs: Sequence[str], tokenizer: Tokenizer = words) -> Page:
    return [tokenize(text, tokenizer) for text in paragraphs]


def best_span(
    evidence: str, paragraphs: Sequence[str], tokens: Page | None = None, tokenizer: Tokenizer = words
) -> EvidenceSpan | None:
    """The best span of a page; None when no paragraph has a word of the evidence."""
    if span := verbatim(evidence, paragraphs):
        return span
    page = tokens if tokens is not None else page_tokens(paragraphs, tokenizer)
    return search([token.text for token in tokenize(evidence, tokenizer)], page)


def verbatim(evidence: str, paragraphs: Sequence[str]) -> EvidenceSpan | None:
    """The evidence itself, letter by letter, between characters that are no part of a word."""
    if not (text := evidence.strip()):
        return None
    for number, paragraph in enumerate(paragraphs):
        start = paragraph.find(text)
        while start >= 0:
            if _whole_words(paragraph, start, start + len(text)):
                return EvidenceSpan(number, start, start + len(text), 1.0, len(tokenize(text)))
            start = paragraph.find(text, start + 1)
    return None


def _whole_words(text: str, start: int, end: int) -> bool:
    """Whether neither end of a stretch cuts a word in two."""
    cuts = ((start - 1, start), (end - 1, end))
    return not any(
        left >= 0 and right < len(text) and text[left].isalnum() and text[right].isalnum()
        for left, right in cuts
    )


def search(original: Sequence[str], page: Page) -> EvidenceSpan | None:
    """The span of a page with the best BLEU, without looking at most of them."""
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
    if best is None:
        return None
    negative, size, number, first, last = best
    return EvidenceSpan(number, page[number][first].start, page[number][last].end, -negative, size)


def _search_paragraph(
    wanted: EvidenceGrams, tokens: Sequence[PlacedToken], number: int, best: Key | None
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
        if best is not None and span.size > wanted.size and (-(span.penalty() * ceiling) > best[0]):
            break
        key = (-span.score(), span.size, number, first, last)
        if best is None or key < best:
            best = key
    return best


CANDIDATES = 3
NOWHERE = -1


class PublishedMatch(msgspec.Struct, frozen=True):
    """Paragraph, characters and score; -1 represents what the program cannot say."""

    paragraph: int
    start: int
    end: int
    bleu: float
    # The released program fails here with an IndexError; the end is that of the last token.
    crashed: bool = False


class _Paragraph(msgspec.Struct, frozen=True):
    words: list[str]
    starts: list[int]


class _Matcher:
    def __init__(self, answer: str, tokenizer: Tokenizer | None, normalize: bool) -> None:
        self.answer = answer
        self.places = tokenizer is not None
        self._tokenizer = tokenizer or white_space
        self._normalize = normalize
        self.wanted = normalize_for_mapping(answer) if normalize else answer
        self.tokens = self.paragraph(self.wanted).words

    def paragraph(self, text: str) -> _Paragraph:
        pieces = self._tokenizer(text)
        words = [
            _THREE_BYTES.sub("", normalize_for_mapping(piece)) if self._normalize else piece
            for piece, _ in pieces
        ]
        return _Paragraph(words, [start for _, start in pieces])

    def verbatim(self, number: int, text: str) -> PublishedMatch | None:
        """The normalised answer, else the answer itself; the end is counted on the latter."""
        for form in (self.wanted, self.answer):
            if (start := text.find(form)) >= 0:
                return PublishedMatch(number, start, start + len(self.answer), 1.0)
        return None

    def overlap(self, paragraph: _Paragraph) -> int:
        return len(set(self.tokens) & set(paragraph.words))

    def joined(self, number: int, paragraph: _Paragraph) -> PublishedMatch | None:
        """The answer's tokens side by side once empty ones are left out."""
        kept = [n for n, word in enumerate(paragraph.words) if word]
        text = " ".join(paragraph.words[n] for n in kept)
        answer = " ".join(word for word in self.tokens if word)
        if (start := text.find(answer)) < 0 or not kept:
            return None
        first = text.count(" ", 0, start)
        end = kept[text.count(" ", 0, max(start, start + len(answer) - 1))]
        return PublishedMatch(
            number, paragraph.starts[kept[first]], paragraph.starts[end] + len(paragraph.words[end]), 1.0
        )


def match_answer(
    answer: str,
    paragraphs: Sequence[str],
    tokenizer: Tokenizer | None = None,
    *,
    normalize: bool = True,
    fast: bool = False,
) -> PublishedMatch:
    """The span that KILT's released program finds, for agreement with it; `best_span` is what the paper says.

    The program looks at three paragraphs only, the end of an exact match overshoots, a run of equal
    tokens swallows the token after it, and of spans with equal scores a new one is taken only when it
    is two tokens shorter. Without a tokenizer pieces between blanks have no places.
    """
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
    # Paragraphs by falling overlap, whole groups of equal overlap until there are three.
    chosen: list[int] = []
    for overlap in sorted(set(overlaps), reverse=True):
        chosen += [n for n, overlap_found in enumerate(overlaps) if overlap_found == overlap]
        if len(chosen) >= CANDIDATES:
            break
    if fast or not chosen:
        return PublishedMatch(chosen[0] if chosen else NOWHERE, NOWHERE, NOWHERE, NOWHERE)
    return _search(matcher, read, chosen)


class _Best(msgspec.Struct):
    score: float = 0.0
    paragraph: int = NOWHERE
    first: int = NOWHERE
    last: int = NOWHERE


def _search(matcher: _Matcher, paragraphs: Sequence[_Paragraph], candidates: Sequence[int]) -> PublishedMatch:
    best = _Best()
    for number in candidates:
        words, size = paragraphs[number].words, len(matcher.tokens)
        starts = range(len(words) - size + 1)
        run = next((n for n in starts if words[n : n + size] == matcher.tokens), None)
        if run is not None:  # the end is exclusive here and taken as inclusive below
            best = _Best(1.0, number, run, run + size)
        elif best.score < 1.0:
            _spans(number, words, matcher.tokens, best)
    if best.paragraph < 0 or not matcher.places:
        return PublishedMatch(best.paragraph, NOWHERE, NOWHERE, best.score)
    paragraph = paragraphs[best.paragraph]
    crashed = best.last >= len(paragraph.words)
    last = min(best.last, len(paragraph.words) - 1)
    end = paragraph.starts[last] + len(paragraph.words[last])
    return PublishedMatch(best.paragraph, paragraph.starts[best.first], end, best.score, crashed)


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
