"""BM25 with Lucene's formula, free parameters and an index on disk."""

from whichone.retrieval.bm25.ranking import Bm25, Bm25Parameters

__all__ = ["Bm25", "Bm25Parameters"]
