"""The SQuAD answer normaliser, which KILT's evaluation uses unchanged."""

from __future__ import annotations

import re
import string

ARTICLES = frozenset({"a", "an", "the"})

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single blanks.

    A hyphen is deleted, so it joins words; Unicode quotes and dashes stay; nothing is composed.
    """
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """The words of the normalised text."""
    lower = text.lower()
    if not (plain := lower.isascii() and lower.replace(" ", "").isalnum()):
        lower = lower.translate(_NO_PUNCTUATION)
        plain = lower.isascii() and lower.isprintable()
    if plain:
        # Only letters, digits and blanks are left, so an article is a whole token. With any other
        # character (a combining accent, a control character) `\b` may end a word inside a token.
        return [word for word in lower.split() if word not in ARTICLES]
    return _ARTICLE.sub(" ", lower).split()
