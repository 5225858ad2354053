"""From a query's terms to its best passages: by numpy, or by numba where it is installed.

Both give the same order: by score, ties by passage ordinal.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.retrieval.bm25.index import Postings

Best = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


class Scorer:
    """Scores queries one after the other over the same postings."""

    def __init__(self, postings: Postings, *, backend: str = "auto") -> None:
        self.postings = postings
        self._scores = np.zeros(len(postings), np.float32)
        self._kernel = _numba_kernel() if backend in ("auto", "numba") else None

    @property
    def backend(self) -> str:
        return "numba" if self._kernel else "numpy"

    def best(self, terms: Sequence[int], k: int) -> Best:
        """Ordinals and scores of the k best passages that share a term with the query."""
        counted = sorted(Counter(terms).items())
        if not counted or not len(self.postings):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        touched = self._add(counted)
        found = top(touched, self._scores[touched], k)
        self._scores[touched] = 0
        return found

    def _add(self, counted: list[tuple[int, int]]) -> npt.NDArray[np.int64]:
        p = self.postings
        if self._kernel is not None:
            numbers = np.array([t for t, _ in counted], np.int64)
            repeats = np.array([c for _, c in counted], np.float32)
            touched: npt.NDArray[np.int64] = self._kernel(
                numbers, repeats, p.starts, p.documents, p.weights, self._scores
            )
            return touched
        for term, repeat in counted:
            place = slice(p.starts[term], p.starts[term + 1])
            self._scores[p.documents[place]] += np.float32(repeat) * p.weights[place]
        return np.flatnonzero(self._scores)


def top(ordinals: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], k: int) -> Best:
    """The k best, ties by ordinal; `ordinals` need not be sorted."""
    if len(scores) > k:
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        level = np.flatnonzero(scores == threshold)
        level = level[np.argsort(ordinals[level], kind="stable")[: k - len(above)]]
        keep = np.concatenate([above, level])
        ordinals, scores = ordinals[keep], scores[keep]
    order = np.lexsort((ordinals, -scores))
    return ordinals[order], scores[order]


@functools.cache
def _numba_kernel() -> Callable[..., Any] | None:
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
    def add(numbers, repeats, starts, documents, weights, scores):  # type: ignore[no-untyped-def]
        total = 0
        for i in range(len(numbers)):
            total += starts[numbers[i] + 1] - starts[numbers[i]]
        touched = np.empty(total, np.int64)
        count = 0
        for i in range(len(numbers)):
            for at in range(starts[numbers[i]], starts[numbers[i] + 1]):
                document = documents[at]
                if scores[document] == 0:
                    touched[count] = document
                    count += 1
                scores[document] += repeats[i] * weights[at]
        return touched[:count]

    return add
