"""The articles of a knowledge base as passages of a fixed number of words, or as whole pages."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import passage_rows
from whichone.benchmarks.kilt.snapshot import Snapshot
from whichone.benchmarks.tables import PASSAGES
from whichone.knowledge.passages.cut import Cut, page_passages


def corpus_of(snapshot: Snapshot, words: int) -> pa.Table:
    """Every article; `words` 0 keeps each page whole."""
    cut = Cut(way="words", size=words) if words else Cut(way="pages")
    file = pq.ParquetFile(snapshot.folder.path("pages.parquet"))
    parts = [PASSAGES.empty()]
    for batch in file.iter_batches(2048, columns=["page", "title", "kind", "paragraphs"]):
        made = [
            passage
            for row in batch.to_pylist()
            if row["kind"] == "article"
            for passage in page_passages(row["page"], row["title"], row["paragraphs"] or [], cut)
        ]
        parts.append(passage_rows(made))
    return pa.concat_tables(parts)
