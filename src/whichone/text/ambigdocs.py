"""The words AmbigDocs compares, and the sentences it cuts: SQuAD-normalised text without stop words, by language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from whichone.text import squad
from whichone.text.language import ENGLISH, SNOWBALL, base_code, listed_stop_words, split_sentences

_DISAMBIGUATION = re.compile(r"\(disambiguation\)$")
_CHARACTER_WORDS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_CHARACTER_WORDS}]|[^\W_{_CHARACTER_WORDS}]+")
_BREAK = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_SEMICOLON = re.compile(r"(?<=;)\s+(?=\S)")
_ABBREVIATION = re.compile(r"(?:^|[\s(.])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|no|No)\.$")


@cache
def stop_words(language: str = ENGLISH) -> frozenset[str]:
    """NLTK's English stop words without an apostrophe; Snowball's of another language, none where it has none.

    A token has lost its punctuation before it is looked up, so the entries with an apostrophe
    can never match and are not kept.
    """
    code = base_code(language)
    if code != ENGLISH:
        return listed_stop_words(SNOWBALL.get(code, ""))
    text = files("whichone.text").joinpath("ambigdocs_stop_words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def tokens(text: str, language: str = ENGLISH) -> list[str]:
    """The words of a text: SQuAD's in English; elsewhere runs of letters and digits, since only English has "an" for an article.

    An apostrophe ends a word ("l'Allemagne"); Chinese, Japanese and Thai characters are words of their own.
    """
    if base_code(language) == ENGLISH:
        return squad.tokens(text)
    return _WORD.findall(text.casefold())


def content_tokens(text: str, without: Iterable[str] = (), language: str = ENGLISH) -> list[str]:
    """The words of `text` that carry content, and none of the tokens in `without`."""
    dropped = stop_words(language).union(without)
    return [token for token in tokens(text, language) if token not in dropped]


def sentences(text: str, language: str = ENGLISH) -> list[str]:
    """A text cut after full stops, semicolons, question and exclamation marks, by the abbreviations of its language."""
    if base_code(language) != ENGLISH:
        whole = split_sentences(text, language)
        return [part for sentence in whole for part in _SEMICOLON.split(sentence)]
    kept_sentences: list[str] = []
    for part in _BREAK.split(text.strip()):
        if kept_sentences and _ABBREVIATION.search(kept_sentences[-1]):
            kept_sentences[-1] += f" {part}"
        elif part:
            kept_sentences.append(part)
    return kept_sentences


def surface_name(ambiguous_entity: str) -> str:
    """The shared name as the scorer sees it: lower case, no trailing "(disambiguation)"."""
    return _DISAMBIGUATION.sub("", ambiguous_entity.strip().lower()).strip()
