"""Matchers that compare characters: regular expressions, normalised text, titles, substrings."""

from __future__ import annotations

from typing import Any

import msgspec
import regex

from whichone.errors import BadInput
from whichone.measures.matching.matcher import Passage
from whichone.text.normalisers import decomposed, has_tokens


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
