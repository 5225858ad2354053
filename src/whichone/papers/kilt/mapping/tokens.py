"""Tokens of a paragraph with their places, normalised or as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from whichone.errors import Missing, UsageError, did_you_mean, missing_extra
from whichone.text.normalisers import normalize_for_mapping

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
_CHARACTER_WORDS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana and Han stand without blanks
_WORD = re.compile(rf"[{_CHARACTER_WORDS}]|[^\W{_CHARACTER_WORDS}]+")
_THREE_BYTES = re.compile(r"[^\u0000-\u07ff]")

Tokenizer = Callable[[str], list[tuple[str, int]]]
"""Tokens with the character each begins at."""


class Token(msgspec.Struct, frozen=True, gc=False):
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


def normal_token(text: str) -> str:
    """As the released program has it: characters of three or more UTF-8 bytes go too."""
    return _THREE_BYTES.sub("", normalize_for_mapping(text))


def tokenize(text: str, tokenizer: Tokenizer = words) -> list[Token]:
    """Normalised tokens that are not empty, with the places of the whole tokens they come from."""
    return [
        Token(normal, start, start + len(piece))
        for piece, start in tokenizer(text)
        if (normal := normalize_for_mapping(piece))
    ]


def named_tokenizer(name: str) -> Tokenizer:
    """`words`, or `spacy` for the tokens that KILT's own mapping was made with."""
    if name == "words":
        return words
    if name == "spacy":
        return _spacy()
    known = ("words", "spacy")
    raise UsageError(f"there is no tokenizer called {name!r}", hint=did_you_mean(name, known))


@cache
def _spacy() -> Tokenizer:
    try:
        import spacy
    except ImportError:
        raise missing_extra("spacy", "adapters") from None
    try:
        pipeline: Any = spacy.blank("en")
    except (ImportError, OSError) as error:
        raise Missing(f"spaCy's English rules do not load: {error}") from error
    return lambda text: [(token.text, token.idx) for token in pipeline(text)]
