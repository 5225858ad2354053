"""From a query's terms to its best passages: by numpy, or by numba where it is installed.

Both give the same scores in the same order: by score, ties by passage ordinal.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from whichone.errors import UsageError, missing_extra
from whichone.retrieval.bm25.index import Postings

Best = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
Backend = Literal["auto", "numba", "numpy"]

_SAFE = 0.999
"""Sums of single precision in another order may differ a little; a bound must not be that tight."""


class Scorer:
    """Scores queries one after the other over the same postings."""

    def __init__(self, postings: Postings, *, backend: Backend = "auto") -> None:
        if backend not in ("auto", "numba", "numpy"):
            raise UsageError(f"there is no backend {backend!r}", hint="auto, numba or numpy")
        self.postings = postings
        self._scores = np.zeros(len(postings), np.float32)
        self._peaks: dict[int, float] = {}
        self._kernel = None if backend == "numpy" else _numba_kernel()
        if backend == "numba" and self._kernel is None:
            raise missing_extra("numba", "fast")

    @property
    def backend(self) -> str:
        return "numba" if self._kernel else "numpy"

    def best(self, terms: Sequence[int], k: int) -> Best:
        """Ordinals and scores of the k best passages that share a term with the query."""
        return self.best_weighted(Counter(terms), k)

    def best_weighted(self, weights: Mapping[int, float], k: int) -> Best:
        """The same where each term of the query has a weight of its own, above 0."""
        counted = sorted(weights.items())
        if not counted or not len(self.postings):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if self._kernel is not None:
            p = self.postings
            numbers = np.array([t for t, _ in counted], np.int64)
            repeats = np.array([c for _, c in counted], np.float32)
            found = self._kernel(
                numbers, repeats, p.starts, p.documents, p.weights, self._scores, k
            )
            return in_order(*found)
        near = self._candidates(counted, k)
        return top(near, self._of(counted, near), k)

    def of(self, terms: Sequence[int], passages: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The scores of some passages only, by looking each up among a term's postings."""
        return self._of(sorted(Counter(terms).items()), passages)

    def _of(
        self, counted: Sequence[tuple[int, float]], passages: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        scores = np.zeros(len(passages), np.float32)
        p = self.postings
        passages = passages.astype(p.documents.dtype)  # or every list would be converted to it
        for term, repeat in counted:
            place = slice(p.starts[term], p.starts[term + 1])
            documents = p.documents[place]
            at = np.searchsorted(documents, passages)
            at[at == len(documents)] = 0
            here = documents[at] == passages
            scores[here] += np.float32(repeat) * p.weights[place][at[here]]
        return scores

    def _candidates(self, counted: Sequence[tuple[int, float]], k: int) -> npt.NDArray[np.int64]:
        """Passages among which the k best are, by adding up rare terms first.

        Once what the terms that are left could add is less than the k-th best score so far, passages
        that hold only those cannot be among the best, and their long lists are never read.
        """
        p, scores = self.postings, self._scores
        order = sorted(counted, key=lambda c: int(p.starts[c[0] + 1] - p.starts[c[0]]))
        left = sum(repeat * self._peak(term) for term, repeat in order)
        lists: list[npt.NDArray[np.int64]] = []
        held, highest, least = 0, 0.0, 0.0
        for term, repeat in order:
            place = slice(p.starts[term], p.starts[term + 1])
            documents = p.documents[place].astype(np.int64)  # gathering by it is twice as fast
            if held >= k and len(documents) > held and left < highest:
                least = self._least(lists, k, least)
                if left < least:
                    break
            before = scores.take(documents)
            after = before + np.float32(repeat) * p.weights[place]
            scores[documents] = after
            lists.append(documents[before == 0])
            held += len(lists[-1])
            highest = max(highest, float(after.max(initial=0)))
            left -= repeat * self._peak(term)
        else:
            left, least = 0.0, self._least(lists, k, least) if held > k else 0.0
        near = [seen[scores.take(seen) + left >= least] for seen in lists]
        for seen in lists:
            scores[seen] = 0
        return np.sort(np.concatenate(near))

    def _least(self, lists: Sequence[npt.NDArray[np.int64]], k: int, least: float) -> float:
        """What a passage must score at least to be among the k best of these; `least` is known before.

        Scores only grow, so what was too little for the k best can be left out of the search.
        """
        found = np.concatenate([self._scores.take(seen) for seen in lists])
        found = found[found >= least]
        return float(np.partition(found, len(found) - k)[len(found) - k]) * _SAFE

    def _peak(self, term: int) -> float:
        """The most that one occurrence of a term in a query adds to any passage."""
        found = self._peaks.get(term)
        if found is None:
            p = self.postings
            weights = p.weights[p.starts[term] : p.starts[term + 1]]
            found = self._peaks[term] = float(weights.max()) if len(weights) else 0.0
        return found


def top(ordinals: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], k: int) -> Best:
    """The k best, ties by ordinal; `ordinals` need not be sorted."""
    if len(scores) > k:
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        level = np.flatnonzero(scores == threshold)
        level = level[np.argsort(ordinals[level], kind="stable")[: k - len(above)]]
        keep = np.concatenate([above, level])
        ordinals, scores = ordinals[keep], scores[keep]
    return in_order(ordinals, scores)


def in_order(ordinals: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]) -> Best:
    order = np.lexsort((ordinals, -scores))
    return ordinals[order], scores[order]


@functools.cache
def _numba_kernel() -> Callable[..., Any] | None:
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(cache=True, nogil=True)
    def best(numbers, repeats, starts, documents, weights, scores, k):  # type: ignore[no-untyped-def]
        total = 0
        for i in range(len(numbers)):
            total += starts[numbers[i] + 1] - starts[numbers[i]]
        touched = np.empty(total, np.int32)
        count = 0
        for i in range(len(numbers)):
            for at in range(starts[numbers[i]], starts[numbers[i] + 1]):
                document = documents[at]
                if scores[document] == 0:
                    touched[count] = document
                    count += 1
                scores[document] += repeats[i] * weights[at]
        # a heap of the k best so far, the worst of them (lowest score, highest ordinal) on top
        kept = np.empty(k, np.int64)
        marks = np.empty(k, np.float32)
        size = 0
        for i in range(count):
            document, score = touched[i], scores[touched[i]]
            scores[document] = 0
            if size < k:
                at = size
                size += 1
                while at > 0:
                    above = (at - 1) // 2
                    if not (
                        score < marks[above] or (score == marks[above] and document > kept[above])
                    ):
                        break
                    marks[at], kept[at] = marks[above], kept[above]
                    at = above
            elif score > marks[0] or (score == marks[0] and document < kept[0]):
                at = 0
                while 2 * at + 1 < k:
                    below = 2 * at + 1
                    if below + 1 < k and (
                        marks[below + 1] < marks[below]
                        or (marks[below + 1] == marks[below] and kept[below + 1] > kept[below])
                    ):
                        below += 1
                    if not (
                        marks[below] < score or (marks[below] == score and kept[below] > document)
                    ):
                        break
                    marks[at], kept[at] = marks[below], kept[below]
                    at = below
            else:
                continue
            marks[at], kept[at] = score, document
        return kept[:size], marks[:size]

    kernel: Callable[..., Any] = best
    return kernel
