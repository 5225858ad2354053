"""DrQA's n-grams: words and pairs of words without stop words and punctuation, hashed into buckets."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import regex

from whichone.errors import Missing
from whichone.text.drqa import decomposed, tokens

BUCKETS = 1 << 24
_PUNCTUATION = regex.compile(r"\p{P}+")


class Buckets:
    """Numbers for the buckets that occur; every distinct n-gram is hashed once."""

    def __init__(self, buckets: list[int] | None = None, *, size: int = BUCKETS) -> None:
        try:
            from mmh3 import hash as murmur
        except ImportError:
            raise Missing("the package mmh3 is not installed", hint="pip install mmh3") from None
        self._murmur = murmur
        self._size = size
        self.buckets: list[int] = list(buckets or ())
        self._numbers = {bucket: n for n, bucket in enumerate(self.buckets)}
        self._known: dict[str, int] = {}
        self._stop = stop_words()

    def __len__(self) -> int:
        return len(self.buckets)

    def add(self, text: str) -> list[int]:
        """The numbers of a text's n-grams; new buckets get new numbers."""
        numbers = []
        for gram in self.ngrams(text):
            number = self._known.get(gram)
            if number is None:
                bucket = self.bucket(gram)
                number = self._numbers.setdefault(bucket, len(self.buckets))
                if number == len(self.buckets):
                    self.buckets.append(bucket)
                self._known[gram] = number
            numbers.append(number)
        return numbers

    def count(self, text: str) -> Counter[int]:
        """The numbers of a question's n-grams that occur in the corpus, with how often each."""
        found = (self._numbers.get(self.bucket(gram)) for gram in self.ngrams(text))
        return Counter(number for number in found if number is not None)

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


def stop_words() -> frozenset[str]:
    text = files(__package__).joinpath("stop_words.txt").read_text("utf-8")
    return frozenset(text.split())
