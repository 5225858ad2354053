"""The passages a built benchmark is asked of: pages of the knowledge base, cut."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Literal

import pyarrow as pa

from whichone.benchmarks.amber.model import AmberSet
from whichone.benchmarks.tables import PASSAGES
from whichone.files.folder import Folder
from whichone.knowledge.passages.cut import Cut, cut_batches
from whichone.records import PASSAGE_MARK

Extent = Literal["all", "sets", "none"]


def corpus(kb: Folder, sets: Sequence[AmberSet], extent: Extent, cut: Cut) -> pa.Table:
    """Passages of all pages, of the bearers' pages only, or none (for builds that only export)."""
    if extent == "none":
        return PASSAGES.empty()
    only = None if extent == "all" else _bearer_pages(sets)
    return passage_table(cut_batches(kb, cut, only=only))


def _bearer_pages(sets: Sequence[AmberSet]) -> Container[str]:
    return {ref.page for s in sets for bearer in s.bearers for ref in bearer.pages}


def passage_table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Batches of cut pages as a benchmark keeps them."""
    made = [_with_ids(batch) for batch in batches]
    return pa.Table.from_batches(made, schema=PASSAGES.schema)


def _with_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow.compute as pc

    number = batch["n"].cast(pa.string())
    columns = {
        **{name: batch[name] for name in batch.schema.names},
        "id": pc.binary_join_element_wise(batch["page"], number, PASSAGE_MARK),
        "source_id": pa.nulls(batch.num_rows, pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns, schema=PASSAGES.schema)
