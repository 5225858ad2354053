"""Matchers that look for an answer's tokens as a contiguous stretch of the passage's tokens."""

from __future__ import annotations

import msgspec

from whichone.measures.matching.matcher import Passage
from whichone.text.normalisers import (
    TOKEN,
    WORD_CHARACTER,
    decomposed,
    has_tokens,
    is_sublist,
    tokens,
)

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
