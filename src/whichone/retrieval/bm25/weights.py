"""What one posting adds to a score: Lucene's BM25 and DrQA's TF-IDF."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from whichone.retrieval.bm25.lists import MOST

Weighting = Literal["bm25", "tfidf"]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

LOGARITHMS: Floats = np.log1p(np.arange(MOST + 1)).astype(np.float32)
"""TF-IDF's impact of a count, without regard to length."""


def impacts(counts: Floats, passages: Ints, norms: Floats | None) -> Floats:
    """count / (count + norm) for BM25; ln(1 + count) where there are no norms. In single precision."""
    if norms is None:
        return LOGARITHMS.take(counts.astype(np.int64))
    return counts / (counts + norms.take(passages))


def lucene_idf(frequency: npt.NDArray[np.int64], passages: int) -> npt.NDArray[np.float64]:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), never negative."""
    return np.log1p((passages - frequency + 0.5) / (frequency + 0.5))


def drqa_idf(frequency: npt.NDArray[np.int64], pages: int) -> npt.NDArray[np.float64]:
    """max(0, ln((N - n + 0.5) / (n + 0.5)))."""
    idf = np.log((pages - frequency + 0.5) / (frequency + 0.5))
    return np.asarray(np.maximum(idf, 0), np.float64)


def length_norms(
    lengths: npt.NDArray[np.int32], mean: float, k1: float, b: float
) -> npt.NDArray[np.float32]:
    """k1 (1 - b + b length / mean length); Lucene's formula has no (k1 + 1) factor."""
    norms = k1 * (1 - b + b * lengths.astype(np.float64) / (mean or 1.0))
    return norms.astype(np.float32)
