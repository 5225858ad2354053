"""The words AmbER compares: SQuAD's normal form, but a hyphen parts words instead of joining them."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.text import squad


def normalize(text: str) -> str:
    """Lower case, hyphens to blanks, no other ASCII punctuation, no articles, single blanks."""
    return squad.normalize(text.replace("-", " "))


def tokens(text: str) -> list[str]:
    """The words of the normalised text."""
    return squad.tokens(text.replace("-", " "))


def contains_answer(document: Sequence[str], answer: Sequence[str]) -> bool:
    """Whether the answer's tokens occur in the document's tokens as one contiguous run.

    An answer without tokens ("The", "...") is found in every document that has a token; the
    released program does the same, and a builder that wants none of it drops such answers first.
    """
    if not answer:
        return bool(document)
    first, length = answer[0], len(answer)
    wanted = list(answer)
    start = -1
    try:
        while True:
            start = document.index(first, start + 1)
            if list(document[start : start + length]) == wanted:
                return True
    except ValueError:
        return False
