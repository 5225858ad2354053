"""Dense retrieval: encoders, vectors on disk, exact and approximate search."""

from whichone.retrieval.dense.dense import Dense, DenseParameters

__all__ = ["Dense", "DenseParameters"]
