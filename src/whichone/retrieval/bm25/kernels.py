"""The loops over postings in numba: the best passages, and looking single ones up."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whichone.retrieval.bm25.lists import BLOCK
from whichone.retrieval.bm25.maxscore import best_kernel


class Kernels(NamedTuple):
    """The k best by encoded lists, the k best by real weights, and the scores of chosen passages."""

    best: Callable[..., Any]
    best_real: Callable[..., Any]
    of: Callable[..., Any]


@functools.cache
def numba_kernels() -> Kernels | None:
    """Compiled when they are first called; None without numba."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(cache=True, nogil=True)
    def parts(place, frequency, words):  # type: ignore[no-untyped-def]
        """Number of entries, and where directory (in words), gaps, codes and large counts begin (in bytes)."""
        start, shape = place >> 2, place & 3
        if shape == 0:
            codes = start + frequency
            return (
                frequency,
                start,
                4 * start,
                4 * codes,
                2 * (codes + (frequency + 15) // 16),
            )
        entries = np.int64(words[start])
        gaps = start + 2 + 2 * ((entries + BLOCK - 1) // BLOCK)
        codes = gaps + ((entries + 3) // 4 if shape == 1 else (entries + 1) // 2)
        return entries, start + 2, 4 * gaps, 4 * codes, 2 * (codes + (entries + 15) // 16)

    @numba.njit(cache=True, nogil=True)
    def add_up_real(places, frequencies, weights, documents, impacts, scores, touched):  # type: ignore[no-untyped-def]
        """Add every list's weights to the scores; how many passages were touched first."""
        count = 0
        for i in range(len(places)):
            for at in range(places[i], places[i] + frequencies[i]):
                passage = documents[at]
                if scores[passage] == 0:
                    touched[count] = passage
                    count += 1
                scores[passage] += weights[i] * impacts[at]
        return count

    @numba.njit(cache=True, nogil=True)
    def keep(kept, marks, size, passage, score):  # type: ignore[no-untyped-def]
        """A heap of the best so far, the worst of them (lowest score, highest ordinal) on top; its new size."""
        k = len(kept)
        if size < k:
            at = size
            size += 1
            while at > 0:
                above = (at - 1) // 2
                if not (score < marks[above] or (score == marks[above] and passage > kept[above])):
                    break
                marks[at], kept[at] = marks[above], kept[above]
                at = above
        elif score > marks[0] or (score == marks[0] and passage < kept[0]):
            at = 0
            while 2 * at + 1 < k:
                below = 2 * at + 1
                if below + 1 < k and (
                    marks[below + 1] < marks[below]
                    or (marks[below + 1] == marks[below] and kept[below + 1] > kept[below])
                ):
                    below += 1
                if not (marks[below] < score or (marks[below] == score and kept[below] > passage)):
                    break
                marks[at], kept[at] = marks[below], kept[below]
                at = below
        else:
            return size
        marks[at], kept[at] = score, passage
        return size

    @numba.njit(cache=True, nogil=True)
    def best_real(places, frequencies, weights, documents, impacts, scores, k):  # type: ignore[no-untyped-def]
        touched = np.empty(min(frequencies.sum(), len(scores)), np.int32)
        count = add_up_real(places, frequencies, weights, documents, impacts, scores, touched)
        k = min(k, count)
        kept, marks, size = np.empty(k, np.int64), np.empty(k, np.float32), 0
        for i in range(count):
            passage = touched[i]
            size = keep(kept, marks, size, np.int64(passage), scores[passage])
            scores[passage] = 0
        return kept[:size], marks[:size]

    @numba.njit(cache=True, nogil=True)
    def of(  # type: ignore[no-untyped-def]
        places, frequencies, weights, words, halves, octets, norms, logarithms, rows
    ):
        scores = np.zeros(len(rows), np.float32)
        for i in range(len(places)):
            place, weight = places[i], weights[i]
            shape, start = place & 3, place >> 2
            entries, directory, gaps, codes, frequent = parts(place, frequencies[i], words)
            for r in range(len(rows)):
                row = rows[r]
                low, high = 0, (entries if shape == 0 else (entries + BLOCK - 1) // BLOCK)
                step = 1 if shape == 0 else 2
                while low < high:  # the first whose passage is above the row
                    middle = (low + high) // 2
                    if words[directory + step * middle] <= row:
                        low = middle + 1
                    else:
                        high = middle
                if low == 0:
                    continue
                low -= 1
                if shape == 0:
                    if words[start + low] != row:
                        continue
                    at, large = low, frequent
                    for other in range(low):
                        if (octets[codes + (other >> 2)] >> (2 * (other & 3))) & 3 == 3:
                            large += 1
                else:
                    at = low * BLOCK
                    end = min(at + BLOCK, entries)
                    passage = np.int64(words[directory + 2 * low])
                    large = frequent + np.int64(words[directory + 2 * low + 1])
                    while True:
                        code = (octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3
                        if passage > row or (passage == row and code):
                            break
                        large += code == 3
                        at += 1
                        if at == end:
                            break
                        passage += octets[gaps + at] if shape == 1 else halves[(gaps >> 1) + at]
                    if at == end or passage != row:
                        continue
                times = np.int64((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3)
                if times == 3:
                    times = np.int64(halves[large])
                if len(norms):
                    impact = np.float32(times) / (np.float32(times) + norms[row])
                else:
                    impact = logarithms[times]
                scores[r] += weight * impact
        return scores

    return Kernels(best_kernel(numba, parts, keep), best_real, of)
