"""The tokens DrQA, DPR and EntityQuestions compare: words, and every other visible character alone."""

from __future__ import annotations

import unicodedata

import regex

TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")
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
