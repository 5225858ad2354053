"""Pages of a knowledge base, cut into the passages that a benchmark is asked of."""

from __future__ import annotations

from collections.abc import Container, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.cut.cut import Cut, cut_batches
from whichone.corpus.tables import PASSAGES
from whichone.files.folder import Folder
from whichone.progress import progress
from whichone.records import PASSAGE_MARK


def cut_corpus(
    kb: Folder, cut: Cut, *, only: Container[str] | None = None, kind: str | None = None
) -> pa.RecordBatchReader:
    """The passages of all pages, of those in `only`, or of one kind, as a benchmark keeps them and in its order.

    They are cut as they are read: a corpus may be larger than memory.
    """
    return pa.RecordBatchReader.from_batches(PASSAGES.schema, _batches(kb, cut, only, kind))


ARTICLE = "article"
"""The kind of pages that are about something."""


def article_pages(kb: Folder) -> set[str]:
    """The pages that are about something: all but those that only list namesakes."""
    pages = kb.table("pages", ["page", "kind"])
    return set(pages.filter(pc.equal(pages["kind"], ARTICLE))["page"].to_pylist())


def _batches(
    kb: Folder, cut: Cut, only: Container[str] | None, kind: str | None
) -> Iterator[pa.RecordBatch]:
    pages = kb.manifest.files["pages.parquet"].rows
    with progress("cutting", pages, "pages") as advance:
        for batch in cut_batches(kb, cut, only=only, kind=kind, advance=advance):
            yield _with_ids(batch)


def _with_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    number = batch["n"].cast(pa.string())
    columns = {
        **{name: batch[name] for name in batch.schema.names},
        "id": pc.binary_join_element_wise(batch["page"], number, PASSAGE_MARK),
        **{
            name: pa.nulls(batch.num_rows, pa.string())
            for name in ("source_id", "entity", "fields")
        },
    }
    return pa.RecordBatch.from_pydict(columns, schema=PASSAGES.schema)
