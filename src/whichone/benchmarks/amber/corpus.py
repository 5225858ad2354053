"""The passages a built benchmark is asked of: every article of the knowledge base, a page a passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichone.benchmarks.tables import PASSAGES

if TYPE_CHECKING:
    import pyarrow as pa

    from whichone.benchmarks.amber.relations import Pipeline


def corpus(pipeline: Pipeline) -> pa.Table:
    """Pages as passages: the title apart, list items and headings without KILT's marks."""
    import ibis

    pages = pipeline.pages()
    text = pages.paragraphs[1:].join(" ").fill_null("")
    for mark in ("BULLET::::- ", "BULLET::::", "Section::::", "\n"):
        text = text.replace(mark, "")
    rows = pages.select(
        id=pages.page + "#0",
        page=pages.page,
        n=ibis.literal(0, "int32"),
        title=pages.title,
        text=text,
        source_id=ibis.null("string"),
    )
    return rows.to_pyarrow().cast(PASSAGES.schema)
