"""The records of AmbigDocs' files: questions with one document a bearer, and predictions for them."""

from __future__ import annotations

from typing import Any

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage about one bearer: `title` is the bearer, `answer` its own answer.

    Released files have no `aliases`; a question built from a knowledge base knows other answers.
    `span` is what a reader found in a model's answer for this bearer (Disambig-F1), and `popularity`
    how well known the bearer is, where known.
    """

    title: str
    text: str = ""
    pid: str | None = None
    answer: str | None = None
    aliases: tuple[str, ...] = ()
    span: str | None = None
    popularity: float | None = None

    def answers(self) -> tuple[str, ...]:
        """The answer and its aliases; none where there is no answer."""
        return () if self.answer is None else (self.answer, *self.aliases)

    def same_as(self, other: Document) -> bool:
        """One passage: the same pid where both have one, else the same title and text."""
        if self.pid is not None and other.pid is not None:
            return self.pid == other.pid
        return (self.title, self.text) == (other.title, other.text)


class AmbigQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of train, dev or test; `extra` keeps every field that AmbigDocs does not name."""

    qid: str
    ambiguous_entity: str
    question: str
    documents: tuple[Document, ...] = ()
    language: str = "en"
    extra: dict[str, Any] = {}


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """A question, what a model said about it, and the passages it was shown.

    `docs` None: the file does not say what was shown.
    """

    question: AmbigQuestion
    gen_answer: str
    docs: tuple[Document, ...] | None = None
    wrong_answers: tuple[str, ...] = ()
