"""Pages of a knowledge base, cut into the passages that a benchmark is asked of."""

from __future__ import annotations

from collections.abc import Container

import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.tables import PASSAGES
from whichone.files.folder import Folder
from whichone.knowledge.passages.cut import Cut, cut_batches
from whichone.records import PASSAGE_MARK


def cut_corpus(kb: Folder, cut: Cut, *, only: Container[str] | None = None) -> pa.Table:
    """The passages of all pages, or of those in `only`, as a benchmark keeps them."""
    batches = [_with_ids(batch) for batch in cut_batches(kb, cut, only=only)]
    return pa.Table.from_batches(batches, schema=PASSAGES.schema)


def _with_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    number = batch["n"].cast(pa.string())
    columns = {
        **{name: batch[name] for name in batch.schema.names},
        "id": pc.binary_join_element_wise(batch["page"], number, PASSAGE_MARK),
        "source_id": pa.nulls(batch.num_rows, pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns, schema=PASSAGES.schema)
