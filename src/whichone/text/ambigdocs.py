"""The words AmbigDocs compares: SQuAD-normalised text without English stop words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from whichone.text.squad import tokens

_DISAMBIGUATION = re.compile(r"\(disambiguation\)$")


@cache
def stop_words() -> frozenset[str]:
    """NLTK's English stop words without an apostrophe.

    A token has lost its punctuation before it is looked up, so the entries with an apostrophe
    can never match and are not kept.
    """
    text = files("whichone.text").joinpath("ambigdocs_stop_words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def content_tokens(text: str, without: Iterable[str] = ()) -> list[str]:
    """The words of `text` that carry content, and none of the tokens in `without`."""
    dropped = stop_words().union(without)
    return [token for token in tokens(text) if token not in dropped]


def surface_name(ambiguous_entity: str) -> str:
    """The shared name as the scorer sees it: lower case, no trailing "(disambiguation)"."""
    return _DISAMBIGUATION.sub("", ambiguous_entity.strip().lower()).strip()
