"""Invented words: numbers spelled in syllables, so that two numbers never give one word."""

from __future__ import annotations

import math

_ONSETS = (
    "b", "bl", "br", "d", "dr", "f", "fl", "g", "gl", "gr", "k", "kl", "kr", "m", "n", "pl",
    "skr", "shr", "spl", "t", "thr", "tr", "v", "vl", "vr", "z", "zh", "zw",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u")
_ENDINGS = ("", "n", "r", "s", "l", "sk", "nd", "x")
_SYLLABLES = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)
_PAIRS = len(_SYLLABLES) ** 2

WORDS = _PAIRS * len(_ENDINGS)
NAMES = WORDS * WORDS
"""How many different words and two-word names there are."""


def word(number: int) -> str:
    """The word of a number below `WORDS`; different numbers, different words.

    Onsets hold no vowel and endings no vowel either, so a word can be cut in only one way.
    """
    rest, ending = divmod(number, len(_ENDINGS))
    first, second = divmod(rest, len(_SYLLABLES))
    return _SYLLABLES[first] + _SYLLABLES[second] + _ENDINGS[ending]


def name(number: int) -> tuple[str, str]:
    """The two words of a name's number below `NAMES`."""
    first, second = divmod(number, WORDS)
    return word(first).capitalize(), word(second).capitalize()


class Shuffle:
    """A fixed reordering of 0 to n-1 that needs no memory: i goes to (a i + b) mod n."""

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self.step = _coprime(int(n * 0.6180339887498949) + 2 * seed + 1, n)
        self.start = (seed * 0x9E3779B97F4A7C15) % n

    def __call__(self, i: int) -> int:
        return (i * self.step + self.start) % self.n


def _coprime(number: int, n: int) -> int:
    candidate = max(number % n, 1)
    while math.gcd(candidate, n) != 1:
        candidate = candidate + 1 if candidate < n else 1
    return candidate
