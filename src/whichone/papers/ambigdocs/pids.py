"""Pids against `psgs_w100.tsv`: does a file's passage lie where its pid says?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from whichone.knowledge.formats.psgs import read_psgs
from whichone.papers.ambigdocs.records import AmbigQuestion, Document


class PidReport(msgspec.Struct, frozen=True, kw_only=True):
    """How the documents of some questions fit a passage file; each list contains pids."""

    documents: int
    agree: int
    missing: tuple[str, ...] = ()
    other_title: tuple[str, ...] = ()
    other_text: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()


def read_passage_file(path: str | Path) -> Iterator[Document]:
    """The rows of a passage file as documents, streamed."""
    for row in read_psgs(path):
        yield Document(pid=row.id, text=row.text, title=row.title)


def check_pids(
    questions: Iterable[AmbigQuestion], passages: Iterable[Document]
) -> tuple[list[AmbigQuestion], PidReport]:
    """The questions with missing texts filled in, and what does not fit.

    Only the wanted rows are held: memory grows with the questions, not with the passage file.
    """
    questions = list(questions)
    wanted = {d.pid for q in questions for d in q.documents if d.pid is not None}
    rows: dict[str | None, Document] = {p.pid: p for p in passages if p.pid in wanted}
    notes: dict[str, dict[str, None]] = {"missing": {}, "title": {}, "text": {}, "filled": {}}
    checked = []
    total = agree = 0
    for question in questions:
        documents = []
        for document in question.documents:
            total += 1
            new, note = _check(document, rows.get(document.pid))
            documents.append(new)
            if note is None:
                agree += 1
            else:
                notes[note].setdefault(document.pid or f"{question.qid}: no pid")
        checked.append(msgspec.structs.replace(question, documents=tuple(documents)))
    return checked, PidReport(
        documents=total,
        agree=agree,
        missing=tuple(notes["missing"]),
        other_title=tuple(notes["title"]),
        other_text=tuple(notes["text"]),
        filled=tuple(notes["filled"]),
    )


def _check(document: Document, row: Document | None) -> tuple[Document, str | None]:
    if row is None:
        return document, "missing"
    if row.title != document.title:
        return document, "title"
    if not document.text.strip():
        return msgspec.structs.replace(document, text=row.text), "filled"
    return document, None if _bare(row.text) == _bare(document.text) else "text"


def _bare(text: str) -> str:
    """A text without blanks and quote marks, which readers of the file treat differently."""
    return "".join(text.replace('"', "").split())
