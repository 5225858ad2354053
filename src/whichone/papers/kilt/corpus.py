"""The articles of a knowledge base as passages of a fixed number of words, or as whole pages."""

from __future__ import annotations

import pyarrow as pa

from whichone.corpus.cut.cut import Cut
from whichone.corpus.cut_pages import article_pages, cut_corpus
from whichone.papers.kilt.snapshot import Snapshot


def corpus_of(snapshot: Snapshot, words: int) -> pa.RecordBatchReader:
    """Every article; `words` 0 keeps each page whole."""
    cut = Cut(way="words", size=words) if words else Cut(way="pages")
    return cut_corpus(snapshot.folder, cut, only=article_pages(snapshot.folder))
