"""AmbigDocs questions as queries and back: one query, and one output for each bearer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from whichone.names import name_key
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, page_id, page_of, passage_id


class BearerDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
        return () if self.answer is None else (self.answer, *self.aliases)

    def same_as(self, other: BearerDocument) -> bool:
        """One passage: the same pid where both have one, else the same title and text."""
        if self.pid is not None and other.pid is not None:
            return self.pid == other.pid
        return (self.title, self.text) == (other.title, other.text)


class AmbigQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of train, dev or test; `extra` keeps every field that AmbigDocs does not name."""

    qid: str
    ambiguous_entity: str
    question: str
    documents: tuple[BearerDocument, ...] = ()
    language: str = "en"
    extra: dict[str, Any] = {}


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """A question, what a model said about it, and the passages it was shown.

    `docs` None: the file does not say what was shown.
    """

    question: AmbigQuestion
    gen_answer: str
    docs: tuple[BearerDocument, ...] | None = None
    wrong_answers: tuple[str, ...] = ()


_MOST = 2**31 - 1


class PassageBook:
    """Gives every different passage an id, `source:title#n`, where n is its pid if that is a number.

    A passage without a numeric pid, or with the pid of another text of its page, gets the first
    free number of its page; the latter are listed in `conflicts`.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.conflicts: list[str] = []
        self._pages: dict[str, dict[int, Passage]] = {}
        self._known: dict[tuple[str, str, str | None], str] = {}

    def add(self, document: BearerDocument) -> str:
        key = (document.title, document.text, document.pid)
        if key in self._known:
            return self._known[key]
        page, pid = page_id(self.source, document.title), document.pid or ""
        numbers = self._pages.setdefault(page, {})
        n = int(pid) if pid.isascii() and pid.isdigit() and int(pid) <= _MOST else None
        if n is None or n in numbers:
            if n is not None:
                self.conflicts.append(f"{document.title}: pid {document.pid} has two texts")
            n = next(free for free in range(_MOST) if free not in numbers)
        place = self._known[key] = passage_id(page, n)
        numbers[n] = Passage(
            id=place, page=page, title=document.title, text=document.text, source_id=document.pid
        )
        return place

    def passages(self) -> list[Passage]:
        return [passage for numbers in self._pages.values() for passage in numbers.values()]


TASK = "ambigdocs"


def query_of(
    question: AmbigQuestion, book: PassageBook, *, split: str | None = None, id: str | None = None
) -> Query:
    """A question of a file as a query; documents without an answer keep their place as outputs."""
    known = {"split": split, "extra": question.extra or None}
    return Query(
        id=id or question.qid,
        task=TASK,
        input=question.question,
        outputs=tuple(_output(document, book) for document in question.documents),
        language=question.language,
        name=question.ambiguous_entity,
        name_set=set_id(question.ambiguous_entity),
        attributes={
            "qid": question.qid,
            "bearers": len(question.documents),
            **{name: value for name, value in known.items() if value is not None},
        },
    )


def _output(document: BearerDocument, book: PassageBook) -> Output:
    passage = book.add(document)
    attributes = {} if document.pid is None else {"pid": document.pid}
    source = Provenance(page=page_of(passage), passage=passage, title=document.title, attributes=attributes)
    return Output(
        answer=document.answer,
        aliases=document.aliases,
        entity=document.title,
        provenance=((source,),),
        attributes={} if document.popularity is None else {"popularity": document.popularity},
    )


def set_id(name: str) -> str:
    return f"ambigdocs/{name_key(name)}"


def name_sets(queries: Iterable[Query]) -> list[NameSet]:
    """The shared names of queries with the bearers that their outputs name, in file order.

    The files say nothing of popularity, so that no bearer is head or tail.
    """
    sets: dict[str, tuple[str, dict[str, dict[str, None]]]] = {}
    for query in queries:
        if query.name_set is None or query.name is None:
            continue
        _, bearers = sets.setdefault(query.name_set, (query.name, {}))
        for output in query.outputs:
            if output.entity is not None:
                pages = bearers.setdefault(output.entity, {})
                pages.update((p.page, None) for group in output.provenance for p in group)
    return [
        NameSet(
            id=key,
            name=name,
            collection=TASK,
            bearers=tuple(
                Bearer(entity=entity, label=entity, pages=tuple(pages)) for entity, pages in bearers.items()
            ),
        )
        for key, (name, bearers) in sets.items()
    ]


def question_of(
    query: Query, passage: Callable[[str], Passage | None], shown: Iterable[str] = ()
) -> AmbigQuestion:
    """A query as AmbigDocs writes it, one document an output.

    Of an output's passages the first that was `shown` represents it, else its first.
    """
    was_shown = frozenset(shown)
    return AmbigQuestion(
        qid=str(query.attributes.get("qid", query.id)),
        ambiguous_entity=query.name or "",
        question=query.input,
        documents=tuple(_document(output, passage, was_shown) for output in query.outputs),
        language=query.language,
        extra=dict(query.attributes.get("extra", {})),
    )


def _document(
    output: Output, passage: Callable[[str], Passage | None], shown: frozenset[str]
) -> BearerDocument:
    sources = [p for group in output.provenance for p in group]
    chosen = next((p for p in sources if p.passage in shown), sources[0] if sources else None)
    document = passage(chosen.passage) if chosen and chosen.passage else None
    title = (chosen.title if chosen else None) or (document.title if document else None)
    # The pid that a file gave; a passage of another origin has its own id for one.
    pid = (
        chosen.attributes.get("pid", None if _from_file(chosen.page) else chosen.passage) if chosen else None
    )
    return BearerDocument(
        title=title or output.entity or "",
        text=document.text if document else "",
        pid=None if pid is None else str(pid),
        answer=output.answer,
        aliases=output.aliases,
        popularity=output.attributes.get("popularity"),
    )


def _from_file(page: str) -> bool:
    return page.startswith(f"{TASK}:")


def gold_passage_ids(queries: Iterable[Query]) -> set[str]:
    return {
        source.passage
        for query in queries
        for output in query.outputs
        for group in output.provenance
        for source in group
        if source.passage is not None
    }


def shown_document(passage: Passage) -> BearerDocument:
    """A passage that a model was shown, under the pid that the gold documents use."""
    pid = passage.source_id if _from_file(passage.page) else passage.id
    return BearerDocument(title=passage.title, text=passage.text, pid=pid)
