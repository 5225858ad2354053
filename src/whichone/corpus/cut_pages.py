"""Pages of a knowledge base, cut into the passages that a benchmark is asked of."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.cut.cut import Cut, cut_batches
from whichone.corpus.cut_on_workers import CutPages, cut_on_workers
from whichone.corpus.tables import PASSAGES
from whichone.files.folder import Folder
from whichone.progress import progress
from whichone.records import PASSAGE_MARK

if TYPE_CHECKING:
    from whichone.knowledge.engine.engines import Engine


def cut_corpus(
    kb: Folder,
    cut: Cut,
    *,
    only: Collection[str] | None = None,
    kind: str | None = None,
    engine: Engine | None = None,
) -> pa.RecordBatchReader:
    """The passages of all pages, of those in `only`, or of one kind, as a benchmark keeps them and in its order.

    They are cut as they are read, by an engine's workers where it has such: a corpus may be larger than memory.
    """
    batches = _batches(kb, cut, only, kind, engine)
    return pa.RecordBatchReader.from_batches(PASSAGES.schema, batches)


ARTICLE = "article"
"""The kind of pages that are about something."""


def article_pages(kb: Folder) -> set[str]:
    """The pages that are about something: all but those that only list namesakes."""
    pages = kb.table("pages", ["page", "kind"])
    return set(pages.filter(pc.equal(pages["kind"], ARTICLE))["page"].to_pylist())


def _batches(
    kb: Folder, cut: Cut, only: Collection[str] | None, kind: str | None, engine: Engine | None
) -> Iterator[pa.RecordBatch]:
    pages = kb.rows("pages")
    with progress("cutting", pages, "pages") as advance:
        batches = cut_batches(kb, cut, only=only, kind=kind, advance=advance)
        if engine is not None and engine.shared:
            work = CutPages(cut, None if only is None else frozenset(only), kind)
            batches = cut_on_workers(engine, kb, work, advance)
        for batch in batches:
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
