"""AmbigDocs questions as queries and back: one query, and one output for each bearer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from whichone.names import name_key
from whichone.papers.ambigdocs.passages import PassageBook
from whichone.papers.ambigdocs.records import AmbigQuestion, Document
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, page_of

TASK = "ambigdocs"


def query_of(
    question: AmbigQuestion, book: PassageBook, *, split: str | None = None, id: str | None = None
) -> Query:
    """A question of a file as a query; documents without an answer keep their place as outputs."""
    attributes: dict[str, Any] = {"qid": question.qid, "bearers": len(question.documents)}
    if split is not None:
        attributes["split"] = split
    if question.extra:
        attributes["extra"] = question.extra
    return Query(
        id=id or question.qid,
        task=TASK,
        input=question.question,
        outputs=tuple(_output(document, book) for document in question.documents),
        language=question.language,
        name=question.ambiguous_entity,
        name_set=set_id(question.ambiguous_entity),
        attributes=attributes,
    )


def _output(document: Document, book: PassageBook) -> Output:
    passage = book.add(document)
    attributes = {} if document.pid is None else {"pid": document.pid}
    source = Provenance(
        page=page_of(passage), passage=passage, title=document.title, attributes=attributes
    )
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
                Bearer(entity=entity, label=entity, pages=tuple(pages))
                for entity, pages in bearers.items()
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
    extra: Mapping[str, Any] = query.attributes.get("extra", {})
    return AmbigQuestion(
        qid=str(query.attributes.get("qid", query.id)),
        ambiguous_entity=query.name or "",
        question=query.input,
        documents=tuple(_document(output, passage, was_shown) for output in query.outputs),
        language=query.language,
        extra=dict(extra),
    )


def _document(
    output: Output, passage: Callable[[str], Passage | None], shown: frozenset[str]
) -> Document:
    sources = [p for group in output.provenance for p in group]
    chosen = next((p for p in sources if p.passage in shown), sources[0] if sources else None)
    document = passage(chosen.passage) if chosen and chosen.passage else None
    title = (chosen.title if chosen else None) or (document.title if document else None)
    return Document(
        title=title or output.entity or "",
        text=document.text if document else "",
        pid=_pid(chosen),
        answer=output.answer,
        aliases=output.aliases,
        popularity=output.attributes.get("popularity"),
    )


def _pid(source: Provenance | None) -> str | None:
    """The pid that a file gave; a passage of another origin has its own id for one."""
    if source is None:
        return None
    pid = source.attributes.get("pid")
    return str(pid) if pid is not None else None if _from_file(source.page) else source.passage


def _from_file(page: str) -> bool:
    return page.startswith(f"{TASK}:")


def gold_passage_ids(queries: Iterable[Query]) -> set[str]:
    """The passages that some output names."""
    return {
        source.passage
        for query in queries
        for output in query.outputs
        for group in output.provenance
        for source in group
        if source.passage is not None
    }


def shown_document(passage: Passage) -> Document:
    """A passage that a model was shown, under the pid that the gold documents use."""
    pid = passage.source_id if _from_file(passage.page) else passage.id
    return Document(title=passage.title, text=passage.text, pid=pid)
