"""The passages a built benchmark is asked of: pages of the knowledge base, cut."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Literal

import pyarrow as pa

from whichone.benchmarks.amber.model import AmberSet
from whichone.benchmarks.tables import PASSAGES
from whichone.files.folder import Folder
from whichone.knowledge.passages.cut import Cut, cut_passages
from whichone.records import Passage

Extent = Literal["all", "sets", "none"]
_BATCH = 50_000


def corpus(kb: Folder, sets: Sequence[AmberSet], extent: Extent, cut: Cut) -> pa.Table:
    """Passages of all pages, of the bearers' pages only, or none (for builds that only export)."""
    if extent == "none":
        return PASSAGES.empty()
    only = None if extent == "all" else _bearer_pages(sets)
    return passage_table(cut_passages(kb, cut, only=only))


def _bearer_pages(sets: Sequence[AmberSet]) -> Container[str]:
    return {ref.page for s in sets for bearer in s.bearers for ref in bearer.pages}


def passage_table(passages: Iterator[Passage]) -> pa.Table:
    """Passages as a table, put together in batches so that few Python objects live at a time."""
    batches = []
    while rows := list(islice(passages, _BATCH)):
        columns = {
            "id": [p.id for p in rows],
            "page": [p.page for p in rows],
            "n": [int(p.id.rpartition("#")[2]) for p in rows],
            "title": [p.title for p in rows],
            "text": [p.text for p in rows],
            "source_id": [p.source_id for p in rows],
        }
        batches.append(pa.RecordBatch.from_pydict(columns, schema=PASSAGES.schema))
    return pa.Table.from_batches(batches, schema=PASSAGES.schema)
