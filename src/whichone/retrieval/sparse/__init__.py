"""Learned sparse retrieval: weights of words that a model writes for questions and passages."""

from whichone.retrieval.sparse.retriever import Sparse, SparseParameters

__all__ = ["Sparse", "SparseParameters"]
