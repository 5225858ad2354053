"""The words AmbER compares, and the texts its ids and quantities are made of.

The normal form is SQuAD's, but a hyphen parts words instead of joining them.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

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


def tuple_id(name: str, entity: str, property: str) -> str:
    """The id of a name's fact: md5 of the list as Python writes it, quoting rules included."""
    return hashlib.md5(repr([name, entity, property]).encode(), usedforsecurity=False).hexdigest()


def query_id(tuple_id: str, text: str) -> str:
    """The id of a query: its fact's id and the md5 of its input."""
    return f"{tuple_id}={hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"


def quantity_aliases(amount: str) -> tuple[list[str], list[str]]:
    """How a quantity may stand in a text: its digits without the sign, and its English words.

    No rounding and no thousands separators; the second list is empty where there are no words.
    """
    digits = amount.lstrip("+-")
    try:
        return [digits], [str(_inflect().number_to_words(digits))]
    except Exception:  # the released program goes on without words, whatever went wrong
        return [digits], []


@functools.cache
def _inflect() -> Any:
    import inflect

    return inflect.engine()
