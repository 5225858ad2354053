"""From text to terms: words, lower case, possessives off, stop words out, stems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mmh3
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichone.errors import must_be_one
from whichone.text.language import ENGLISH, SNOWBALL, base_code, listed_stop_words, stemmer_of, stop_words_of

# The 33 words that Lucene's English analysis leaves out.
LUCENE_STOP_WORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
])  # fmt: skip

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SIGNS = bytes(n for n in range(128) if not chr(n).isalnum() and chr(n) != "'")
_PLAIN = bytes.maketrans(_SIGNS + bytes(range(65, 91)), b" " * len(_SIGNS) + bytes(range(97, 123)))
_NONE = 0  # The key of the empty term
_TOGETHER = 1_000  # So many texts or words are Python's at a time

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
    stems = stemmer_of_words(name)
    return lambda word: stems([word])[0]


def stemmer_of_words(name: str) -> Callable[[list[str]], list[str]]:
    """The same of many words, each in half the time."""
    if name == "none":
        return list
    import Stemmer

    must_be_one(name, Stemmer.algorithms(), f"there is no stemmer {name!r}")
    # its own cache of 10,000 words costs five times as much as stemming
    return Stemmer.Stemmer(name, 0).stemWords


class Analyser:
    """From a text to its terms."""

    def __init__(self, stem: str, stop: str) -> None:
        self._stems = stemmer_of_words(stem)
        self._stop = stop_words(stop)

    def terms(self, text: str) -> list[str]:
        return [term for term in self.stems(_WORD.findall(text.lower())) if term]

    def stems(self, words: Iterable[str]) -> list[str]:
        """The terms of lower-case words; empty for a stop word."""
        # stemmers know l'auteur, not l’auteur
        bare = [w[:-2] if w.endswith(("'s", "’s")) else w.replace("’", "'") for w in words]
        return self._stems(["" if w in self._stop else w for w in bare])


def key_of(term: str) -> int:
    """What an index knows of a term: 64 bits of its MurmurHash3.

    Two of ten million terms share a key once in 370,000 such corpora.
    """
    return int(mmh3.hash64(term.encode("utf-8", "surrogatepass"), signed=False)[0])


class TermNumbers:
    """Numbers the words of a block of texts; those that mean one term may have several numbers."""

    key_bits = 64

    def __init__(self, stem: str, stop: str) -> None:
        self._options = stem, stop
        self._analyser = Analyser(stem, stop)

    def __reduce__(self) -> tuple[type[TermNumbers], tuple[str, str]]:
        return TermNumbers, self._options

    def number(self, texts: pa.Array) -> tuple[Numbers, Numbers, Keys]:
        """All words' numbers in a row, negative for stop words, how many each text has, and each number's key."""
        split = [_split(texts.slice(n, _TOGETHER).to_pylist()) for n in range(0, len(texts), _TOGETHER)]
        counts = [np.diff(lists.offsets.to_numpy()) for lists in split]
        encoded = pa.chunked_array([lists.values for lists in split], pa.large_string()).dictionary_encode()
        del split
        words = encoded.chunk(0).dictionary
        numbers = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
        del encoded
        pa.default_memory_pool().release_unused()
        pieces = (words.slice(n, _TOGETHER).to_pylist() for n in range(0, len(words), _TOGETHER))
        keys = np.concatenate([self._keys(piece) for piece in pieces])
        good = keys != _NONE
        renumbered = np.where(good, np.cumsum(good) - 1, -1).astype(np.int32)
        return renumbered.take(numbers), np.concatenate(counts).astype(np.int32), keys[good]

    def _keys(self, words: list[str]) -> Keys:
        terms = self._analyser.stems(word.strip("'") for word in words)
        hashed = [mmh3.hash_bytes(term.encode("utf-8", "surrogatepass")) for term in terms]
        return np.frombuffer(b"".join(hashed), np.uint64)[::2]


def _split(texts: list[str]) -> pa.Array:
    """Lists of texts' words in lower case, apostrophes perhaps at their ends, empty ones perhaps among them.

    A list given to Arrow would import pandas.
    """
    plain = [text if text.isascii() else " ".join(_WORD.findall(text.lower())) for text in texts]
    octets = [text.encode() for text in plain]
    starts = np.cumsum([0, *map(len, octets)], dtype=np.int64)
    data = b"".join(octets).translate(_PLAIN).replace(b"''", b"  ")
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(data)]
    return pc.ascii_split_whitespace(pa.Array.from_buffers(pa.large_string(), len(texts), buffers))


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
