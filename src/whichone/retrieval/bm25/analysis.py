"""From text to terms: words, lower case, possessives off, stop words out, stems."""

from __future__ import annotations

import re
from collections.abc import Callable

from whichone.errors import UsageError, did_you_mean

LUCENE_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
        "of",
        "on",
        "or",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "will",
        "with",
    ]
)
"""The 33 words that Lucene's English analysis leaves out."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")


def stop_words(name: str) -> frozenset[str]:
    """ "lucene", "none", or words between commas."""
    if name == "none":
        return frozenset()
    return LUCENE_STOP_WORDS if name == "lucene" else frozenset(name.lower().split(","))


def stemmer(name: str) -> Callable[[str], str]:
    """One of Snowball's stemmers by name ("porter", "english", "german", ...), or "none"."""
    if name == "none":
        return str
    import Stemmer

    if name not in Stemmer.algorithms():
        raise UsageError(
            f"there is no stemmer {name!r}", hint=did_you_mean(name, Stemmer.algorithms())
        )
    stem: Callable[[str], str] = Stemmer.Stemmer(name).stemWord
    return stem


class Vocabulary:
    """Terms and their numbers; every distinct word is analysed once."""

    STOPPED = -1

    def __init__(self, stem: str, stop: str, terms: list[str] | None = None) -> None:
        self.terms: list[str] = terms or []
        self._numbers = {term: n for n, term in enumerate(self.terms)}
        self._words: dict[str, int] = {}
        self._stem = stemmer(stem)
        self._stop = stop_words(stop)

    def __len__(self) -> int:
        return len(self.terms)

    def add(self, text: str) -> list[int]:
        """The term numbers of a text; unseen terms get new numbers."""
        known = self._words
        numbers = []
        for word in _WORD.findall(text.lower()):
            number = known.get(word)
            if number is None:
                number = known[word] = self._number(word, grow=True)
            if number >= 0:
                numbers.append(number)
        return numbers

    def find(self, text: str) -> list[int]:
        """The numbers of a text's known terms; the vocabulary does not change."""
        numbers = (self._number(word, grow=False) for word in _WORD.findall(text.lower()))
        return [number for number in numbers if number >= 0]

    def analyse(self, text: str) -> list[str]:
        """The terms themselves, for explanations and for the plain reference."""
        return [t for t in map(self._term, _WORD.findall(text.lower())) if t]

    def _term(self, word: str) -> str:
        word = _POSSESSIVE.sub("", word)
        return "" if word in self._stop else self._stem(word)

    def _number(self, word: str, *, grow: bool) -> int:
        term = self._term(word)
        if not term:
            return self.STOPPED
        if grow and term not in self._numbers:
            self._numbers[term] = len(self.terms)
            self.terms.append(term)
        return self._numbers.get(term, self.STOPPED)
