"""Re-ranking of runs."""

from whichone.retrieval.rerank.retriever import Rerank, RerankParameters

__all__ = ["Rerank", "RerankParameters"]
