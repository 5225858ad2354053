"""Mapped evidence as KILT records: what an evaluation set keeps, what it drops, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from whichone.papers.kilt.mapping.evidence import Evidence, TaskOutput, TaskRecord
from whichone.papers.kilt.mapping.spans import THRESHOLD


class Mapped(msgspec.Struct, frozen=True):
    """Where a piece of evidence came to lie; `page` None where the snapshot has no such page."""

    evidence: Evidence
    page: str | None = None
    title: str | None = None
    section: str | None = None
    paragraph: int | None = None
    start: int | None = None
    end: int | None = None
    bleu: float | None = None
    """None for a page that is evidence as a whole."""

    @property
    def score(self) -> float:
        """What counts against the threshold: a page found as a whole is a perfect match."""
        if self.page is None:
            return 0.0
        return 1.0 if self.bleu is None else self.bleu


class Kept(msgspec.Struct, frozen=True):
    """A record as it goes out (None when it is dropped), and how many outputs were dropped."""

    record: dict[str, Any] | None
    dropped_outputs: int = 0


def assemble(
    task: TaskRecord,
    mapped: Sequence[Sequence[Mapped] | None],
    *,
    train: bool,
    aliases: bool = False,
    linking: bool = False,
    threshold: float = THRESHOLD,
) -> Kept:
    """The KILT record of a task record; `mapped` goes with its outputs.

    Train keeps every pair. Dev and test drop an output when any of its spans is below the threshold,
    and a record when no output with provenance is left. With `aliases` an output that does not map
    stays as an answer, as in TriviaQA. In entity `linking` the answer is the title of the page, whatever the
    original calls it: a Wikidata id, a redirect, an older title.
    """
    outputs: list[dict[str, Any]] = []
    supported = dropped = 0
    for output, mapped_output in zip(task.outputs, mapped, strict=True):
        good = mapped_output is not None and all(
            piece.score >= threshold for piece in mapped_output
        )
        if mapped_output is None or good or train:
            outputs.append(_output(output, mapped_output, linking=linking))
            supported += mapped_output is not None
        else:
            dropped += 1
            if aliases and output.answer is not None:
                outputs.append(_output(output, None))
    if not train and not supported:
        return Kept(None, dropped)
    record: dict[str, Any] = {"id": task.id}
    if task.input is not None:
        record["input"] = task.input
    return Kept({**record, "output": outputs, **task.rest}, dropped)


def _output(
    output: TaskOutput, values: Sequence[Mapped] | None, *, linking: bool = False
) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    title = next((piece.title for piece in values or () if piece.title), None) if linking else None
    if title or output.answer is not None:
        outputs["answer"] = title or output.answer
    entries = [_entry(piece) for piece in values or () if piece.page is not None]
    if entries:
        outputs["provenance"] = entries
    return {**outputs, **output.rest}


def _entry(piece: Mapped) -> dict[str, Any]:
    entry: dict[str, Any] = {"wikipedia_id": (piece.page or "").partition(":")[2]}
    if piece.title is not None:
        entry["title"] = piece.title
    if piece.bleu is not None:
        span = {
            "section": piece.section,
            "start_paragraph_id": piece.paragraph,
            "start_character": piece.start,
            "end_paragraph_id": piece.paragraph,
            "end_character": piece.end,
            "bleu_score": piece.bleu,
        }
        entry |= {key: value for key, value in span.items() if value is not None}
    return {**entry, **piece.evidence.rest}


def section_of(paragraphs: Sequence[str], number: int) -> str:
    """The heading above a paragraph; text before the first one is the abstract."""
    above = (p for p in reversed(paragraphs[: number + 1]) if p.startswith("Section::::"))
    return next(above, "Section::::Abstract.").strip()
