"""The passages a built benchmark is asked of: pages of the knowledge base, cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from whichone.corpus.corpus import PASSAGES
from whichone.corpus.cut import Cut, cut_corpus
from whichone.files.folder import Folder
from whichone.knowledge.engines import Engine
from whichone.papers.amber.model import AmberSet

Extent = Literal["all", "sets", "none"]


def corpus(
    kb: Folder, sets: Sequence[AmberSet], extent: Extent, cut: Cut, engine: Engine
) -> pa.RecordBatchReader:
    """Passages of all pages, of the bearers' pages only, or none (for builds that only export)."""
    if extent == "none":
        return PASSAGES.empty().to_reader()
    only = None if extent == "all" else _bearer_pages(sets)
    return cut_corpus(kb, cut, only=only, engine=engine)


def _bearer_pages(sets: Sequence[AmberSet]) -> set[str]:
    return {ref.page for s in sets for bearer in s.bearers for ref in bearer.pages}
