"""The passages a built benchmark is asked of: every article of the knowledge base, cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichone.benchmarks.tables import PASSAGES

if TYPE_CHECKING:
    import pyarrow as pa

    from whichone.benchmarks.amber.relations import Pipeline


def corpus(pipeline: Pipeline) -> pa.Table:
    """Whole pages as passages."""
    import ibis

    pages = pipeline.pages()
    text = pages.paragraphs.join(" ")
    rows = pages.select(
        id=pages.page + "#0",
        page=pages.page,
        n=ibis.literal(0, "int32"),
        title=pages.title,
        text=text,
    )
    return rows.to_pyarrow().cast(PASSAGES.schema)
