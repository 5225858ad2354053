"""MaxSim: for each token of the question its closest token of the passage, added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whichone.retrieval.dense.encoder import Vectors


def maxsim(question: Vectors, passages: Sequence[Vectors]) -> Vectors:
    """The score of each passage, exactly."""
    if not passages:
        return np.zeros(0, np.float32)
    lengths = [len(passage) for passage in passages]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    close = question @ np.concatenate(passages).T
    scores: Vectors = np.maximum.reduceat(close, starts, axis=1).sum(0)
    return scores
