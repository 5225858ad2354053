"""People whose page has another form of a name in the question: "John F. Kennedy" or "Jack Kennedy" for "John Kennedy"."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from whichone.corpus.page_names import names_in_first_sentence
from whichone.names import plain_signs, without_parentheses
from whichone.retrieval.namesake.spelling import GENERATIONS, folded, nicknames

_WORD = re.compile(r"[^\W_]+")
_MOST_ADDED = 2

Words = tuple[str, ...]


@functools.lru_cache(20_000)
def name_words(name: str) -> Words:
    """The words of a person's name in plain letters, without "Jr." and what follows a comma."""
    bare = plain_signs(without_parentheses(name)).casefold().partition(",")[0]
    words = [folded(word) for word in _WORD.findall(bare)]
    while len(words) > 2 and words[-1] in GENERATIONS:
        words.pop()
    return tuple(words)


def has_other_form(
    title: str, opening: Callable[[], str], language: str, words: Sequence[str]
) -> bool:
    """Whether a page's title or first sentence has the words of a name with further ones, or with a nickname."""
    own = name_words(title)
    if not own or own[-1] != words[-1]:
        return False
    if any(is_longer_form(form, words) for form in _formal(own)):
        return True
    named = names_in_first_sentence(without_parentheses(title), opening(), language)
    return any(is_longer_form(form, words) for name in named for form in _formal(name_words(name)))


def _formal(words: Words) -> Iterator[Words]:
    """A name as it is, and with what its first word may be short for."""
    yield words
    if len(words) > 1:
        for full in nicknames().get(words[0], ()):
            yield (folded(full), *words[1:])


def is_longer_form(longer: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words of a name, at least two, have others before them, or between the first and the last."""
    every = tuple(longer)
    added = len(every) - len(words)
    if len(words) < 2 or not 0 <= added <= _MOST_ADDED or not all(map(str.isalpha, every)):
        return False
    ends = every[-len(words) :] == tuple(words)
    around = len(words) == 2 and (every[0], every[-1]) == tuple(words)
    return ends or around
