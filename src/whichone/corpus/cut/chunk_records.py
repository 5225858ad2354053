"""KILT's chunks with all that it keeps of them: section, anchors, and where the text comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.cut.kilt_chunks import SIZE, Splitter, kilt_chunks, plain_sentences
from whichone.files.folder import Folder
from whichone.files.lines import write_lines
from whichone.knowledge.export_kilt import kilt_records
from whichone.records import passage_id


def chunk_records(
    base: str | Path | Folder, *, size: int = SIZE, sentences: Splitter = plain_sentences
) -> Iterator[dict[str, Any]]:
    """The chunks of a knowledge base, in order of page, with `id`, `page`, `title` and `text` as passages have them."""
    for page, record in kilt_records(base):
        chunks = kilt_chunks(record["text"], record["anchors"], size=size, sentences=sentences)
        for number, chunk in enumerate(chunks):
            yield {
                "id": passage_id(page, number),
                "page": page,
                "title": record["wikipedia_title"],
                "text": chunk.text,
                "section": chunk.section,
                "anchors": chunk.anchors,
                "sources": chunk.sources,
                "categories": record.get("categories", ""),
                "history": record.get("history", {}),
            }


def export_chunks(base: str | Path, out: str | Path) -> dict[str, int]:
    """KILT's own layout: a number from 1, a tab, and the chunk as JSON, a line each."""
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= "kilt_chunks.tsv"
    return {path.name: write_lines(path, _published_lines(base))}


def _published_lines(base: str | Path) -> Iterator[bytes]:
    for number, record in enumerate(chunk_records(base), 1):
        identity = record.pop("page").partition(":")[2]
        record.pop("id")
        title = record.pop("title")
        row = {"_id": identity, "wikipedia_id": identity, "wikipedia_title": title, **record}
        # a tab within the JSON is written as \t: KILT's reader drops lines with more than one tab
        yield b"%d\t%s" % (number, msgspec.json.encode(row))
