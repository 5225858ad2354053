"""The tokens DrQA, DPR and EntityQuestions compare: words, and every other visible character alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import regex

TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")
_SIGMA = regex.compile("[σς]")
WORD_CHARACTER = regex.compile(r"[\p{L}\p{N}\p{M}]")


def spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each token; separators and control characters belong to none."""
    return [match.span() for match in TOKEN.finditer(text)]


def tokens(text: str) -> list[str]:
    """Lower-cased tokens.

    Each token is lower-cased by itself: whether a sigma is final is decided inside the token, so
    lower-casing the sentence first would give other tokens.
    """
    return [token.lower() for token in TOKEN.findall(text)]


def decomposed(text: str) -> str:
    """Canonical decomposition (NFD); compatibility forms such as ligatures stay apart."""
    return text if text.isascii() else unicodedata.normalize("NFD", text)


def has_tokens(text: str) -> bool:
    return TOKEN.search(text) is not None


def is_sublist(needle: list[str], haystack: list[str]) -> bool:
    """Whether the tokens of `needle` appear in `haystack`, one after another."""
    n = len(needle)
    return any(haystack[i : i + n] == needle for i in range(len(haystack) - n + 1))


def contains_any(needles: Sequence[list[str]], text: str) -> bool:
    """Whether the tokens of one of the needles appear in a text, one after another; an empty needle never does.

    Most texts are without one of a needle's tokens, which is seen before they are cut. A sigma at the end of a token is
    another letter than inside it, so that tokens with one are looked for in the cut text alone.
    """
    lowered = text.lower()
    near = [
        needle
        for needle in needles
        if needle and all(token in lowered or _SIGMA.search(token) for token in needle)
    ]
    if not near:
        return False
    words = tokens(text)
    return any(is_sublist(needle, words) for needle in near)
