"""The texts of spans that a KILT file names by their places in an older snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whichone.errors import BadInput
from whichone.papers.kilt.mapping.evidence import Evidence, TaskRecord
from whichone.papers.kilt.snapshot import Snapshot, SnapshotPage

Span = tuple[int, int, int, int]


def with_texts(
    records: Sequence[TaskRecord], old: Snapshot | None, file: str | Path
) -> list[TaskRecord]:
    """The records with the text of each span that has none of its own.

    A span that the old snapshot does not hold keeps an empty text: its page alone is evidence.
    """
    lost = {piece for record in records for piece in map(_key, _pieces(record)) if piece}
    if not lost:
        return list(records)
    if old is None:
        first = next(r for r in records if any(map(_key, _pieces(r))))
        raise BadInput(
            "evidence is named by paragraph and character, without its text",
            file=file,
            line=first.line,
            ids=[first.id],
            hint="name the knowledge base of the snapshot that these places are of with --from",
        )
    pages = old.resolve(page for page, _ in lost)
    held = {page.page: page for page in old.pages(pages.values())}
    texts = {(page, span): text_at(held[pages[page]], span) for page, span in lost if page in pages}
    return [_filled(record, texts) for record in records]


def _pieces(record: TaskRecord) -> list[Evidence]:
    return [piece for output in record.outputs for piece in output.evidence or ()]


def _key(piece: Evidence) -> tuple[str, Span] | None:
    if piece.text or piece.page is None or piece.span is None:
        return None
    return piece.page, piece.span


def text_at(page: SnapshotPage, span: Span) -> str:
    """What is between two places of a page; paragraphs in between come whole."""
    first, start, last, end = span
    paragraphs = page.paragraphs
    if first > last or last >= len(paragraphs):
        return ""
    if first == last:
        return paragraphs[first][start:end]
    between = paragraphs[first + 1 : last]
    return " ".join((paragraphs[first][start:], *between, paragraphs[last][:end]))


def _filled(record: TaskRecord, texts: dict[tuple[str, Span], str]) -> TaskRecord:
    def filled(piece: Evidence) -> Evidence:
        key = _key(piece)
        return msgspec.structs.replace(piece, text=texts.get(key)) if key else piece

    outputs = tuple(
        msgspec.structs.replace(output, evidence=tuple(map(filled, output.evidence)))
        if output.evidence is not None
        else output
        for output in record.outputs
    )
    return msgspec.structs.replace(record, outputs=outputs)
