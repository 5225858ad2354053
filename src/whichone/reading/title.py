"""Entity linking by titles: of the page called as the mention is, or of the best page shown."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, Self

from whichone.corpus.corpus import Corpus
from whichone.records import Answer, Question, ReadingTask

_MARKED = re.compile(r"\[START_ENT\]\s*(.*?)\s*\[END_ENT\]", re.DOTALL)


class ExactTitle:
    """The page whose title is the mention, among the passages shown; closed-book in the whole corpus.

    KILT finds that a model often links right by leaving the mention as it is; this reader does
    nothing else. Without such a page it refuses; where there is no corpus, it gives the mention itself.
    """

    name = "title"
    tasks = ("el",)

    def __init__(self, titles: dict[str, str]) -> None:
        self._titles = titles
        """For each title, as it is compared, the title as written."""

    @classmethod
    def over(cls, corpus: Corpus) -> Self:
        return cls({compared(title): title for title in corpus.titles().values()})

    def describe(self) -> dict[str, Any]:
        return {"reader": self.name}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            wanted = compared(mention_of(task.question))
            hit = next((p for p in task.passages if compared(p.title) == wanted), None)
            if hit is not None:
                yield Answer(question=task.question.id, text=hit.title, passages=(hit.id,))
            else:
                text = None if task.passages else self._in_corpus(wanted)
                yield Answer(question=task.question.id, text=text)

    def _in_corpus(self, wanted: str) -> str | None:
        return self._titles.get(wanted) if self._titles else wanted


class BestTitle:
    """The title of the best page shown: what a retriever says when it is asked to link an entity."""

    name = "best-title"
    tasks = ("el",)

    @classmethod
    def over(cls, corpus: Corpus) -> Self:
        return cls()

    def describe(self) -> dict[str, Any]:
        return {"reader": self.name}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            best = next(iter(task.passages), None)
            if best is None:
                yield Answer(question=task.question.id, text=None)
            else:
                yield Answer(question=task.question.id, text=best.title, passages=(best.id,))


def mention_of(question: Question) -> str:
    """The marked mention; the whole text where nothing is marked."""
    if question.mention:
        return question.mention
    marked = _MARKED.search(question.text)
    return marked[1] if marked else question.text


def compared(title: str) -> str:
    """A title as it is compared: composed, unescaped, single blanks; case and parentheses count."""
    return " ".join(unicodedata.normalize("NFC", html.unescape(title)).replace("_", " ").split())
