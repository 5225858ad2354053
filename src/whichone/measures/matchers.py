"""Does a retrieved passage hold the answer? The published matchers, by name."""

from __future__ import annotations

import re
import string
from typing import Any, Protocol

import msgspec
import regex

from whichone.errors import BadInput, UsageError, did_you_mean
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


class Passage(msgspec.Struct, frozen=True):
    """What a matcher may look at; `has_answer` is the flag stored by whoever wrote the file."""

    title: str
    text: str
    has_answer: bool | None = None


class PreparedAnswers(Protocol):
    """A question's answers, made ready to be looked for in many passages."""

    def found_in(self, passage: Passage) -> bool: ...


class Matcher(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...

    def prepare(self, answers: list[str]) -> PreparedAnswers: ...

    def matches_everything(self, answer: str) -> bool:
        """Whether the answer has nothing to look for, so that every passage would be a hit."""
        ...


# Matchers that compare characters: regular expressions, normalised text, titles, substrings.


class DprRegex(msgspec.Struct, frozen=True):
    """DPR's regular expressions (CuratedTREC); a pattern that does not compile matches nothing."""

    name: str = "dpr-regex"
    about: str = "answers are regular expressions, searched in the text, case ignored"

    def prepare(self, answers: list[str]) -> Patterns:
        compiled = (compile_pattern(decomposed(answer)) for answer in answers)
        return Patterns([pattern for pattern in compiled if pattern is not None])

    def matches_everything(self, answer: str) -> bool:
        return not has_tokens(answer)


def compile_pattern(answer: str) -> Any | None:
    try:
        return regex.compile(answer, flags=regex.IGNORECASE | regex.UNICODE | regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError):
        return None


class Patterns(msgspec.Struct, frozen=True):
    patterns: list[Any]

    def found_in(self, passage: Passage) -> bool:
        text = decomposed(passage.text)
        return any(pattern.search(text) is not None for pattern in self.patterns)


class TitlePrefix(msgspec.Struct, frozen=True):
    name: str = "title"
    about: str = "the title starts with the answer, both lower-cased and stripped"

    def prepare(self, answers: list[str]) -> TitlePrefixes:
        return TitlePrefixes(tuple(answer.lower().strip() for answer in answers))

    def matches_everything(self, answer: str) -> bool:
        return not answer.strip()


class TitlePrefixes(msgspec.Struct, frozen=True):
    prefixes: tuple[str, ...]

    def found_in(self, passage: Passage) -> bool:
        return passage.title.lower().strip().startswith(self.prefixes)


class Substring(msgspec.Struct, frozen=True):
    """How the EntityQuestions paper compares with REALM (Table 6)."""

    name: str = "substring"
    about: str = "the answer, verbatim, is a substring of the text; the title is left out"

    def prepare(self, answers: list[str]) -> Substrings:
        return Substrings(answers)

    def matches_everything(self, answer: str) -> bool:
        return not answer


class Substrings(msgspec.Struct, frozen=True):
    answers: list[str]

    def found_in(self, passage: Passage) -> bool:
        return any(answer in passage.text for answer in self.answers)


class StoredFlag(msgspec.Struct, frozen=True):
    """The published scorer's default: the number then depends on whoever wrote the file."""

    name: str = "has-answer"
    about: str = "the has_answer flag stored with each passage, as it is"

    def prepare(self, answers: list[str]) -> StoredFlags:
        return StoredFlags()

    def matches_everything(self, answer: str) -> bool:
        return False


class StoredFlags(msgspec.Struct, frozen=True):
    def found_in(self, passage: Passage) -> bool:
        if passage.has_answer is None:
            raise BadInput(
                "a passage has no has_answer flag",
                hint="give --match a matcher that looks at the text, such as dpr",
            )
        return passage.has_answer


# DPR's matcher for KILT: a substring once both sides are normalised as SQuAD does.


_RUN = re.compile(r"[a-z0-9]+")
_PUNCTUATION = string.punctuation.encode()
_NOT_BYTEWISE = ("\u0130", "\u212a")
"""Beyond ASCII, but with an ASCII letter in their lower case."""
_PARTS_OF_ARTICLES = frozenset({"t", "h", "e", "th", "he", "n"})


class DprKilt(msgspec.Struct, frozen=True):
    name: str = "dpr-kilt"
    about: str = "a substring of the text, both SQuAD-normalised"

    def prepare(self, answers: list[str]) -> NormalisedAnswers:
        return NormalisedAnswers([_sought(normalize(answer)) for answer in answers])

    def matches_everything(self, answer: str) -> bool:
        return not normalize(answer)


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


class NormalisedAnswers(msgspec.Struct, frozen=True):
    answers: list[Sought]

    def found_in(self, passage: Passage) -> bool:
        text = passage.text
        if any(character in text for character in _NOT_BYTEWISE):
            return self._found(text, self.answers)
        # Normalising is slow, so most passages are recognised by their bytes: lower case, no punctuation.
        bare = text.encode("utf-8", "surrogatepass").lower().translate(None, _PUNCTUATION)
        possible = [sought for sought in self.answers if sought.run in bare]
        if any(sought.proof is not None and sought.proof in bare for sought in possible):
            return True
        return bool(possible) and self._found(text, possible)

    def _found(self, text: str, answers: list[Sought]) -> bool:
        normalised = normalize(text)
        return any(sought.answer in normalised for sought in answers)


# Matchers that look for an answer's tokens as a contiguous stretch of the passage's tokens.


_SIGMAS = ("σ", "ς")


class TokenMatcher(msgspec.Struct, frozen=True):
    """`decompose_passage`: NFD on the passage too (the answer is always decomposed).

    `title_joint`: what is between title and text; None leaves the title out.
    """

    name: str
    about: str
    decompose_passage: bool
    title_joint: str | None = None

    def prepare(self, answers: list[str]) -> TokenAnswers:
        texts = [decomposed(answer) for answer in answers]
        return TokenAnswers(self, [AnswerTokens(text, tokens(text)) for text in texts])

    def matches_everything(self, answer: str) -> bool:
        return not has_tokens(decomposed(answer))

    def passage_text(self, title: str, text: str) -> str:
        joined = text if self.title_joint is None else f"{title}{self.title_joint}{text}"
        return decomposed(joined) if self.decompose_passage else joined


class AnswerTokens(msgspec.Struct, frozen=True):
    """An answer, decomposed, and its tokens."""

    text: str
    tokens: list[str]


class TokenAnswers(msgspec.Struct, frozen=True):
    matcher: TokenMatcher
    answers: list[AnswerTokens]

    def found_in(self, passage: Passage) -> bool:
        return any_found(self.answers, self.matcher.passage_text(passage.title, passage.text))


def any_found(answers: list[AnswerTokens], text: str) -> bool:
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
    following = TOKEN.finditer(text, at)
    for token in answer:
        match = next(following, None)
        if match is None or match.group().lower() != token:
            return False
    return True


# Does a retrieved passage hold the answer? The published matchers, by name.


_ALL: tuple[Matcher, ...] = (
    TokenMatcher("dpr", "tokens of the answer in the text, both decomposed (NFD)", True),
    TokenMatcher("dpr-title", "as dpr, over title, ' . ' and text", True, " . "),
    TokenMatcher("entityquestions", "tokens of the answer in the text, only the answer NFD", False),
    TokenMatcher("string-title", "as entityquestions, over title, a blank and text", False, " "),
    DprRegex(),
    DprKilt(),
    TitlePrefix(),
    Substring(),
    StoredFlag(),
)

MATCHERS: dict[str, Matcher] = {matcher.name: matcher for matcher in _ALL}


def find_matcher(name: str) -> Matcher:
    if name not in MATCHERS:
        raise UsageError(f"there is no matcher called {name!r}", hint=did_you_mean(name, MATCHERS))
    return MATCHERS[name]
