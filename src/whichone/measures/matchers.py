"""Does a retrieved passage hold the answer? The published matchers, by name."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import regex

from whichone.errors import BadInput, must_be_one
from whichone.text.normalisers import (
    TOKEN,
    WORD_CHARACTER,
    decomposed,
    has_tokens,
    is_sublist,
    normalize,
    tokens,
)

# What a matcher is: given a question's answers, does a passage hold one of them?


class MatchedText(msgspec.Struct, frozen=True):
    """What a matcher may look at; `has_answer` is the flag stored by whoever wrote the file."""

    title: str
    text: str
    has_answer: bool | None = None


class Matcher(msgspec.Struct, frozen=True):
    """A published way to look for answers in a passage."""

    name: str
    about: str
    ready: Callable[[str], Any]
    finds: Callable[[Sequence[Any], MatchedText], bool]
    # Whether an answer has nothing to look for, so that every passage would be a hit.
    matches_everything: Callable[[str], bool]

    def prepare(self, answers: Sequence[str]) -> PreparedAnswers:
        return PreparedAnswers(self, [self.ready(answer) for answer in answers])


class PreparedAnswers(msgspec.Struct, frozen=True):
    matcher: Matcher
    answers: list[Any]

    def found_in(self, passage: MatchedText) -> bool:
        return self.matcher.finds(self.answers, passage)


def _pattern(answer: str) -> Any | None:
    """An answer as a regular expression; one that does not compile matches nothing."""
    flags = regex.IGNORECASE | regex.UNICODE | regex.MULTILINE
    with suppress(regex.error, RecursionError, OverflowError):
        return regex.compile(decomposed(answer), flags=flags)
    return None


def _search_patterns(patterns: Sequence[Any], passage: MatchedText) -> bool:
    text = decomposed(passage.text)
    return any(pattern is not None and pattern.search(text) for pattern in patterns)


def _stored_flag(answers: Sequence[str], passage: MatchedText) -> bool:
    if passage.has_answer is None:
        raise BadInput(
            "a passage has no has_answer flag",
            hint="give --match a matcher that looks at the text, such as dpr",
        )
    return passage.has_answer


# DPR's matcher for KILT: a substring once both sides are normalised as SQuAD does.
_RUN = re.compile(r"[a-z0-9]+")
_PUNCTUATION = string.punctuation.encode()
_NOT_BYTEWISE = ("\u0130", "\u212a")  # Beyond ASCII, but with an ASCII letter in their lower case
_PARTS_OF_ARTICLES = frozenset({"t", "h", "e", "th", "he", "n"})


class Sought(msgspec.Struct, frozen=True):
    """A normalised answer; `run` must appear in a passage that contains it, `proof` shows that it does."""

    answer: str
    run: bytes
    proof: bytes | None


def _sought(answer: str) -> Sought:
    run = max(_RUN.findall(answer), key=len, default="")
    words = answer.split()
    # Where the answer begins or ends like an article, it may be one that is removed from the text.
    safe = bool(words) and answer.isascii() and _PARTS_OF_ARTICLES.isdisjoint(words)
    return Sought(answer, run.encode(), answer.encode() if safe else None)


def _find_normalised(answers: Sequence[Sought], passage: MatchedText) -> bool:
    possible, text = answers, passage.text
    if not any(character in text for character in _NOT_BYTEWISE):
        # Normalising is slow, so most passages are recognised by their bytes: lower case, no punctuation.
        bare = text.encode("utf-8", "surrogatepass").lower().translate(None, _PUNCTUATION)
        possible = [sought for sought in answers if sought.run in bare]
        if any(sought.proof is not None and sought.proof in bare for sought in possible):
            return True
    normalised = normalize(text) if possible else ""
    return any(sought.answer in normalised for sought in possible)


# Matchers that look for an answer's tokens as a contiguous stretch of the passage's tokens.
_SIGMAS = ("σ", "ς")


class AnswerTokens(msgspec.Struct, frozen=True):
    text: str
    tokens: list[str]


class TokenMatcher(Matcher, frozen=True):
    """One that compares tokens; the answer is always decomposed (NFD)."""

    decompose_passage: bool = True
    title_joint: str | None = None  # What is between title and text; None leaves the title out

    def passage_text(self, title: str, text: str) -> str:
        joined = text if self.title_joint is None else f"{title}{self.title_joint}{text}"
        return decomposed(joined) if self.decompose_passage else joined


def _token_matcher(name: str, about: str, decompose: bool, title_joint: str | None) -> TokenMatcher:
    def finds(answers: Sequence[AnswerTokens], passage: MatchedText) -> bool:
        return any_found(answers, matcher.passage_text(passage.title, passage.text))

    matcher = TokenMatcher(
        name,
        about,
        lambda answer: AnswerTokens(text := decomposed(answer), tokens(text)),
        finds,
        lambda answer: not has_tokens(decomposed(answer)),
        decompose,
        title_joint,
    )
    return matcher


def any_found(answers: Sequence[AnswerTokens], text: str) -> bool:
    """Whether one of the answers appears in `text`, as `TokenMatcher.passage_text` gives it."""
    lower = text.lower()
    if len(lower) != len(text):  # a dotted capital I became two characters: offsets differ
        haystack = tokens(text)
        return any(is_sublist(answer.tokens, haystack) for answer in answers)
    return any(_found(answer.tokens, text, lower) for answer in answers)


def _found(answer: list[str], text: str, lower: str) -> bool:
    """Whether the answer's tokens appear in `text`, tokenising only where its first token occurs."""
    if not answer:
        return True
    if any(sigma in token for sigma in _SIGMAS for token in answer):
        return is_sublist(answer, tokens(text))  # a sigma is lower-cased otherwise in a sentence
    if not all(token in lower for token in answer):
        return False
    first = answer[0]
    is_word = WORD_CHARACTER.match(first) is not None
    at = lower.find(first)
    while at >= 0:
        inside_word = is_word and at > 0 and WORD_CHARACTER.match(text, at - 1) is not None
        if not inside_word and _starts_with(answer, text, at):
            return True
        at = lower.find(first, at + 1)
    return False


def _starts_with(answer: list[str], text: str, at: int) -> bool:
    following = (match.group().lower() for match in TOKEN.finditer(text, at))
    return all(next(following, None) == token for token in answer)


_ALL = (
    _token_matcher("dpr", "tokens of the answer in the text, both decomposed (NFD)", True, None),
    _token_matcher("dpr-title", "as dpr, over title, ' . ' and text", True, " . "),
    _token_matcher("entityquestions", "tokens of the answer in the text, only the answer NFD", False, None),
    _token_matcher("string-title", "as entityquestions, over title, a blank and text", False, " "),
    Matcher(
        "dpr-regex",  # CuratedTREC
        "answers are regular expressions, searched in the text, case ignored",
        _pattern,
        _search_patterns,
        lambda answer: not has_tokens(answer),
    ),
    Matcher(
        "dpr-kilt",
        "a substring of the text, both SQuAD-normalised",
        lambda answer: _sought(normalize(answer)),
        _find_normalised,
        lambda answer: not normalize(answer),
    ),
    Matcher(
        "title",
        "the title starts with the answer, both lower-cased and stripped",
        lambda answer: answer.lower().strip(),
        lambda answers, passage: passage.title.lower().strip().startswith(tuple(answers)),
        lambda answer: not answer.strip(),
    ),
    Matcher(
        "substring",  # how the EntityQuestions paper compares with REALM (Table 6)
        "the answer, verbatim, is a substring of the text; the title is left out",
        str,
        lambda answers, passage: any(answer in passage.text for answer in answers),
        lambda answer: not answer,
    ),
    Matcher(
        "has-answer",  # the published scorer's default: it then depends on whoever wrote the file
        "the has_answer flag stored with each passage, as it is",
        str,
        _stored_flag,
        lambda answer: False,
    ),
)
MATCHERS: dict[str, Matcher] = {matcher.name: matcher for matcher in _ALL}


def find_matcher(name: str) -> Matcher:
    must_be_one(name, MATCHERS, f"there is no matcher called {name!r}")
    return MATCHERS[name]
