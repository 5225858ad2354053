"""Whether gold answers and gold titles can be read in the retrieved texts or in the input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET

from whichone.papers.kilt.scores.records import GetKeys
from whichone.text.normalisers import ARTICLES, normalize, normalize_for_mapping

NEVER = 1 << 62


def gold_titles(outputs: Iterable[Any], get_title: GetKeys) -> set[str]:
    """The distinct stripped titles of gold pages; TypeError where one is something else than text."""
    titles = set()
    for output in outputs:
        if output.provenance is UNSET:
            continue
        for title in map(get_title, output.provenance):
            if title is UNSET or not title:
                continue
            if type(title) is not str:
                raise TypeError(f"the gold title {title!r} is not text")
            if stripped := title.strip():
                titles.add(stripped)
    return titles


def title_in_input(titles: Iterable[str], text: str) -> bool:
    """Whether a title, normalised, is a substring of the input, normalised."""
    normal = normalize(text)
    possible = [  # a plain last word survives as it is, and has to be there
        title
        for title in titles
        if (last := title.rsplit(None, 1)[-1].lower()) in normal
        or not (last.isascii() and last.isalnum())
        or last in ARTICLES
    ]
    return any(normalize(title) in normal for title in possible)


def first_mentions(
    texts: Sequence[Any], answers: Iterable[str], titles: Iterable[str]
) -> tuple[int, int, int]:
    """Index of the first text with a gold answer, with both answer and title, with a title.

    `NEVER` where there is no such text. A substring of the normalised text will do, so an answer
    that normalises to nothing is in every text.
    """
    answer_at = both_at = title_at = NEVER
    normal_answers = _with_longest_words(answers)
    normal_titles = _with_longest_words(titles)
    for index, text in enumerate(texts):
        if text is UNSET:
            continue
        if type(text) is not str:
            raise TypeError(f"the text {text!r} of a retrieved passage is not text")
        bare = normalize_for_mapping(text)
        possible_titles = [title for title, word in normal_titles if word in bare]
        if answer_at < NEVER and not possible_titles:
            continue  # nothing new to be found here
        possible_answers = [answer for answer, word in normal_answers if word in bare]
        if not possible_answers and not possible_titles:
            continue
        normal = normalize(text)
        has_answer = any(answer in normal for answer in possible_answers)
        has_title = any(title in normal for title in possible_titles)
        if has_answer:
            answer_at = min(answer_at, index)
        if has_title:
            title_at = min(title_at, index)
        if has_answer and has_title:
            both_at = index
            break
    return answer_at, both_at, title_at


def _with_longest_words(phrases: Iterable[str]) -> list[tuple[str, str]]:
    """Normalised phrases, each with a word that appears in every text that contains the phrase.

    A word of a normalised text also appears in the text in lower case without punctuation, which is
    much cheaper to make.
    """
    normal = map(normalize, phrases)
    return [(phrase, max(phrase.split(), key=len, default="")) for phrase in normal]
