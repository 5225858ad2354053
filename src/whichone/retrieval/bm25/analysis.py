"""From text to terms: words, lower case, possessives off, stop words out, stems."""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mmh3
import numpy as np
import numpy.typing as npt

from whichone.errors import UsageError, did_you_mean
from whichone.text.language import ENGLISH, SNOWBALL, base_code, listed_stop_words, stemmer_of, stop_words_of

# The 33 words that Lucene's English analysis leaves out.
LUCENE_STOP_WORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
])  # fmt: skip

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SIGNS = "".join(chr(n) for n in range(128) if not chr(n).isalnum() and chr(n) != "'")
_PLAIN = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + _SIGNS, "abcdefghijklmnopqrstuvwxyz" + " " * len(_SIGNS)
)

STOPPED = -1
_SEVERAL = -2
MOST_WORDS = 1_500_000  # So many distinct words are remembered between blocks of passages

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]


def stop_words(name: str) -> frozenset[str]:
    """ "lucene" (English), another language's name such as "german", "none", or words between commas."""
    if name in ("none", "lucene"):
        return LUCENE_STOP_WORDS if name == "lucene" else frozenset()
    return listed_stop_words(name) if name in SNOWBALL.values() else frozenset(name.lower().split(","))


def by_language(parameters: Mapping[str, Any], corpus: object) -> dict[str, Any]:
    """Parameters of an index of a corpus, with the stemmer and stop words of its language where none are given."""
    language = getattr(corpus, "language", ENGLISH)
    if base_code(language) == ENGLISH:
        return dict(parameters)
    return {"stemmer": stemmer_of(language), "stop_words": stop_words_of(language), **parameters}


def stemmer(name: str) -> Callable[[str], str]:
    """One of Snowball's stemmers by name ("porter", "english", "german", ...), or "none"."""
    if name == "none":
        return str
    import Stemmer

    if name not in Stemmer.algorithms():
        raise UsageError(f"there is no stemmer {name!r}", hint=did_you_mean(name, Stemmer.algorithms()))
    # its own cache of 10,000 words costs five times as much as stemming
    return Stemmer.Stemmer(name, 0).stemWord


class Analyser:
    """From a text to its terms."""

    def __init__(self, stem: str, stop: str) -> None:
        self._stem = stemmer(stem)
        self._stop = stop_words(stop)

    def terms(self, text: str) -> list[str]:
        return [t for t in map(self.term, _WORD.findall(text.lower())) if t]

    def term(self, word: str) -> str:
        """A lower-case word's term; empty for a stop word."""
        if word.endswith(("'s", "’s")):
            word = word[:-2]
        elif "’" in word:
            word = word.replace("’", "'")  # stemmers know l'auteur, not l’auteur
        return "" if word in self._stop else self._stem(word)


def key_of(term: str) -> int:
    """What an index knows of a term: 64 bits of its MurmurHash3.

    Two of ten million terms share a key once in 370,000 such corpora.
    """
    return int(mmh3.hash64(term.encode("utf-8", "surrogatepass"), signed=False)[0])


class _Words(dict[str, int]):
    """Numbers of words; every distinct word is analysed once."""

    def __init__(self, analyser: Analyser) -> None:
        super().__init__()
        self._analyser = analyser
        self.keys_by_number = array("Q")

    def __missing__(self, word: str) -> int:
        words = _WORD.findall(word) if "'" in word else (word,)
        term = self._analyser.term(words[0]) if len(words) == 1 else ""
        if not term:
            number = STOPPED if len(words) < 2 else _SEVERAL
        else:
            number = len(self.keys_by_number)
            self.keys_by_number.append(key_of(term))
        self[word] = number
        return number


class TermNumbers:
    """Numbers the terms of many texts, in one process; words that mean one term may have several."""

    key_bits = 64

    def __init__(self, stem: str, stop: str) -> None:
        self._options = stem, stop
        self._analyser = Analyser(stem, stop)

    def __reduce__(self) -> tuple[type[TermNumbers], tuple[str, str]]:
        return TermNumbers, self._options

    @functools.cached_property
    def _words(self) -> _Words:
        return _Words(self._analyser)

    def number(self, texts: Iterable[str]) -> tuple[Numbers, Numbers]:
        """All terms' numbers in a row, and how many each text has; stop words are negative."""
        if len(self._words) > MOST_WORDS:
            del self._words
        find = self._words.__getitem__
        flat, counts = array("i"), array("i")
        for text in texts:
            numbers: list[int] | None = None
            if text.isascii():
                numbers = list(map(find, text.translate(_PLAIN).split()))
                if "'" in text and _SEVERAL in numbers:
                    numbers = None
            if numbers is None:
                numbers = list(map(find, _WORD.findall(text.lower())))
            flat.extend(numbers)
            counts.append(len(numbers))
        return np.frombuffer(flat, np.int32), np.frombuffer(counts, np.int32)

    def keys(self) -> Keys:
        """The key of each number so far."""
        return np.frombuffer(self._words.keys_by_number, np.uint64)


class Vocabulary:
    """The terms of an index: their keys in ascending order, where a term's place is its number."""

    def __init__(self, stem: str, stop: str, keys: Keys | None = None) -> None:
        self.keys: Keys = np.zeros(0, np.uint64) if keys is None else keys
        self._analyser = Analyser(stem, stop)

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, text: str) -> list[int]:
        """The numbers of a text's known terms."""
        return numbers_of(self.keys, [key_of(term) for term in self.analyse(text)])

    def analyse(self, text: str) -> list[str]:
        """The terms themselves, for explanations and for the plain reference."""
        return self._analyser.terms(text)


def numbers_of(keys: Keys, wanted: list[int]) -> list[int]:
    """The places of those that are among the keys, in the order asked for."""
    if not wanted or not len(keys):
        return []
    sought = np.array(wanted, np.uint64)
    places = np.searchsorted(keys, sought)
    places[places == len(keys)] = 0
    return places[keys[places] == sought].tolist()
