"""The nouns: few, frozen, typed, the same words in code, on disk and on the command line."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import msgspec

Role = Literal["head", "tail"]  # Head is the most popular bearer of a name, tail every other one

K = TypeVar("K")
V = TypeVar("V")
PASSAGE_MARK = "#"


def page_id(source: str, key: str | int) -> str:
    """A page's id: the source it comes from and its id there."""
    return f"{source}:{key}"


def passage_id(page: str, n: int) -> str:
    """A passage's id: its page and its number on that page, from 0."""
    return f"{page}{PASSAGE_MARK}{n}"


def page_of(passage: str) -> str:
    """The page of a passage id; a page id is its own page."""
    page, mark, n = passage.rpartition(PASSAGE_MARK)
    return page if mark and n.isdigit() else passage


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The base of all nouns: frozen, compared by value, written without its defaults.

    They hold no cycles, so that the garbage collector need not look at them.
    """


class Entity(Record, frozen=True):
    id: str
    label: str
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    popularity: float | None = None


class Fact(Record, frozen=True):
    """Property and value of an entity; `value` is an entity id when `kind` is "entity"."""

    entity: str
    property: str
    value: str
    kind: str = "entity"


class Page(Record, frozen=True):
    id: str
    title: str
    paragraphs: tuple[str, ...] = ()
    entity: str | None = None


class Passage(Record, frozen=True):
    """A stretch of a page that a retriever returns."""

    id: str
    page: str
    title: str
    text: str
    source_id: str | None = None
    entity: str | None = None
    """Whom it is about, where its source says so."""


class Bearer(Record, frozen=True):
    """One entity that has a shared name, with the pages that are about it."""

    entity: str
    label: str = ""
    role: Role | None = None
    popularity: float | None = None
    types: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


class NameSet(Record, frozen=True):
    """A name and the entities that bear it, head first."""

    id: str
    name: str
    collection: str = ""
    bearers: tuple[Bearer, ...] = ()


class Provenance(Record, frozen=True):
    """A page that supports an answer, with the span where one is known."""

    page: str
    title: str | None = None
    passage: str | None = None
    start_paragraph: int | None = None
    start_character: int | None = None
    end_paragraph: int | None = None
    end_character: int | None = None
    attributes: Mapping[str, Any] = {}


class Output(Record, frozen=True):
    """One answer, whom it is about, and the sets of pages that support it.

    `provenance` is a tuple of sets: all pages of one set together are evidence, any one set suffices.
    """

    answer: str | None = None
    aliases: tuple[str, ...] = ()
    entity: str | None = None
    provenance: tuple[tuple[Provenance, ...], ...] = ()
    attributes: Mapping[str, Any] = {}


class Query(Record, frozen=True):
    """A question with everything known about it; systems never see this, only its `Question`."""

    id: str
    task: str
    input: str
    outputs: tuple[Output, ...] = ()
    language: str = "en"
    mention: str | None = None
    name: str | None = None
    name_set: str | None = None
    role: Role | None = None
    relation: str | None = None
    entity: str | None = None
    attributes: Mapping[str, Any] = {}

    def question(self) -> Question:
        return Question(
            id=self.id, text=self.input, task=self.task, language=self.language, mention=self.mention
        )

    def gold_pages(self) -> frozenset[str]:
        outputs = self.outputs
        if len(outputs) == 1 and len(outputs[0].provenance) == 1:  # the same by a shorter way
            return frozenset([entry.page for entry in outputs[0].provenance[0]])
        return frozenset(p.page for o in outputs for group in o.provenance for p in group)

    def answers(self) -> tuple[str, ...]:
        """Every accepted answer, aliases included, in order, each once."""
        seen: dict[str, None] = {}
        for output in self.outputs:
            for text in (output.answer, *output.aliases):
                if text is not None:
                    seen.setdefault(text)
        return tuple(seen)


class Question(Record, frozen=True):
    """What a system is allowed to see of a query: no answers, no gold, no entity, no name set."""

    id: str
    text: str
    task: str = "qa"
    language: str = "en"
    mention: str | None = None


class Ranking(Record, frozen=True):
    """One question's passages (or pages), best first; `notes` is what the system says about it."""

    question: str
    passages: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    notes: Mapping[str, Any] = {}


class ReadingTask(Record, frozen=True):
    """A question with the passages that a reader is shown; `dataset` is the one of several that it is from."""

    question: Question
    passages: tuple[Passage, ...] = ()
    dataset: str = ""


class Ask(msgspec.Struct, frozen=True):
    """What an answering function returns to ask the user back, which ends the turn."""

    text: str


class Refuse(msgspec.Struct, frozen=True):
    """What an answering function returns to refuse; `reason` is kept, and not scored."""

    reason: str | None = None


class Answer(Record, frozen=True):
    """What a reader said, and on which passages it rests; `text` None is a refusal.

    `asks` is a question back to the user in place of an answer. `error` says why there is no answer at
    all: it is kept as a failure, and scored as wrong.
    """

    question: str
    text: str | None = None
    asks: str | None = None
    passages: tuple[str, ...] = ()
    score: float | None = None
    notes: Mapping[str, Any] = {}
    error: str | None = None


class Call(Record, frozen=True):
    """One use of a tool by an agent: what it gave, and what came back.

    `passages` are the ids that a search returned, `text` the user's reply or an action's result.
    """

    tool: str
    input: str = ""
    passages: tuple[str, ...] = ()
    text: str | None = None
    arguments: Mapping[str, Any] = {}


class Trace(Record, frozen=True):
    """What an agent did for one question: its searches, questions back and actions, in order."""

    question: str
    calls: tuple[Call, ...] = ()

    def of(self, tool: str) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.tool == tool)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The second of each pair under the first, both in the order in which they come."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


# Making many records without pauses for garbage collection.


@contextmanager
def without_collector() -> Iterator[None]:
    """Records have no cycles; looking for them while millions are made takes half the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
