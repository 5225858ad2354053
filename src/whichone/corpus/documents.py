"""A folder of documents as passages: own ids, and whom each document is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whichone.errors import BadInput
from whichone.files.document_formats import Document, document_files, read_document
from whichone.records import Passage, page_id, passage_id

PATH = "path"
"""As the field of the entity: the folder that a document is in."""
SIZE = 200


def read_documents(
    folder: Path, *, entity: str | None = None, source: str = "corpus"
) -> Iterator[Passage]:
    """Every document under a folder, cut into passages; its id is its front matter's, else its path.

    `entity` is the field of the front matter that says whom a document is about, or "path" for the
    folder it is in.
    """
    seen: dict[str, Path] = {}
    for path in document_files(folder):
        document = read_document(path)
        place = path.relative_to(folder).as_posix()
        own = document.fields.get("id") or place
        if own in seen:
            raise BadInput(f"two documents have the id {own!r}: {seen[own]}", file=path)
        seen[own] = path
        page = page_id(source, own)
        about = _owner(document, path, folder, entity)
        title = document.fields.get("title") or document.title or path.stem.replace("_", " ")
        for n, text in enumerate(_stretches(document.text)):
            yield Passage(
                id=passage_id(page, n),
                page=page,
                title=title,
                text=text,
                source_id=own if n == 0 else f"{own}#{n}",
                entity=about,
            )


def _stretches(text: str) -> list[str]:
    """The words of a document in stretches of two hundred; an empty document is one of its own."""
    words = text.split()
    return [" ".join(words[n : n + SIZE]) for n in range(0, len(words), SIZE)] or [""]


def _owner(document: Document, path: Path, folder: Path, entity: str | None) -> str | None:
    if entity is None:
        return None
    if entity == PATH:
        parent = path.parent.relative_to(folder).as_posix()
        return None if parent == "." else parent
    return document.fields.get(entity) or None
