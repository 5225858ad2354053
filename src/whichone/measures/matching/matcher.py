"""What a matcher is: given a question's answers, does a passage hold one of them?"""

from __future__ import annotations

from typing import Protocol

import msgspec


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
