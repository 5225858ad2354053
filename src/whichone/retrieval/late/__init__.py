"""Late interaction: passages by the closest of their tokens to each token of the question."""

from whichone.retrieval.late.retriever import Late, LateParameters

__all__ = ["Late", "LateParameters"]
