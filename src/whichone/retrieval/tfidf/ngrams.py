"""DrQA's n-grams: words and pairs of words without stop words and punctuation, hashed into buckets."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import regex

from whichone.errors import Missing
from whichone.retrieval.bm25 import analysis
from whichone.retrieval.bm25.analysis import Keys, numbers_of
from whichone.text.normalisers import decomposed, tokens

BUCKETS = 1 << 24
DRQA = "drqa"
_PUNCTUATION = regex.compile(r"\p{P}+")


class Buckets:
    """From a text to the buckets of its n-grams; nothing is remembered, whatever the size of a corpus."""

    def __init__(self, size: int = BUCKETS, stop: str = DRQA) -> None:
        try:
            from mmh3 import hash as murmur
        except ImportError:
            raise Missing("the package mmh3 is not installed", hint="pip install mmh3") from None
        self._murmur = murmur
        self._size = size
        self._stop = stop_words(stop)

    @property
    def key_bits(self) -> int:
        return max((self._size - 1).bit_length(), 1)

    def number(self, texts: Iterable[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """The buckets of all texts in a row, and how many each text has."""
        flat, counts = array("q"), array("i")
        for text in texts:
            buckets = [self.bucket(gram) for gram in self.ngrams(text)]
            flat.extend(buckets)
            counts.append(len(buckets))
        return np.frombuffer(flat, np.int64), np.frombuffer(counts, np.int32)

    def keys(self) -> None:
        """Buckets are the keys of the index themselves."""

    def count(self, text: str, keys: Keys) -> Counter[int]:
        """The numbers of a question's n-grams in an index with these keys, with how often each."""
        return Counter(numbers_of(keys, [self.bucket(gram) for gram in self.ngrams(text)]))

    def bucket(self, gram: str) -> int:
        """Unsigned 32-bit MurmurHash3 with seed 0, modulo the number of buckets."""
        return int(self._murmur(gram, 0, signed=False)) % self._size

    def ngrams(self, text: str) -> list[str]:
        """Uni- and bigrams none of whose words is a stop word or punctuation."""
        words = tokens(decomposed(text))
        kept = [w not in self._stop and not _PUNCTUATION.fullmatch(w) for w in words]
        single = [word for word, good in zip(words, kept, strict=True) if good]
        pairs = [
            f"{words[n]} {words[n + 1]}" for n in range(len(words) - 1) if kept[n] and kept[n + 1]
        ]
        return single + pairs


def stop_words(name: str = DRQA) -> frozenset[str]:
    """DrQA's own list, which is English; or what BM25's `stop_words` takes."""
    if name != DRQA:
        return analysis.stop_words(name)
    text = files(__package__).joinpath("stop_words.txt").read_text("utf-8")
    return frozenset(text.split())
