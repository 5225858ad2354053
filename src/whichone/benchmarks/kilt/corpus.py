"""The articles of a knowledge base as passages of a fixed number of words, or as whole pages."""

from __future__ import annotations

import pyarrow as pa

from whichone.benchmarks.cut_corpus import article_pages, cut_corpus
from whichone.benchmarks.kilt.snapshot import Snapshot
from whichone.knowledge.passages.cut import Cut


def corpus_of(snapshot: Snapshot, words: int) -> pa.RecordBatchReader:
    """Every article; `words` 0 keeps each page whole."""
    cut = Cut(way="words", size=words) if words else Cut(way="pages")
    return cut_corpus(snapshot.folder, cut, only=article_pages(snapshot.folder))
