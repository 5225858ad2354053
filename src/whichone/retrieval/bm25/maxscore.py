"""MaxScore over windows of passages in numba: lists that cannot bring a passage among the best are only looked up.

Turtle and Flood, *Query evaluation: strategies and optimizations* (1995). The lists that can are added up a window at a time,
in a buffer that fits into a core's cache. As the worst of the best so far rises, more lists are only looked up.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from whichone.retrieval.bm25.lists import BLOCK

WINDOW = 1 << 16
"""Passages whose sums fit into a core's cache."""


def candidates_kernel(numba: ModuleType, parts: Any) -> Any:
    """What gives a superset of the k best passages, in any order, that is hardly larger."""

    @numba.njit(cache=True, nogil=True)
    def impact_of(times, passage, norms, logarithms):  # type: ignore[no-untyped-def]
        if len(norms):
            return np.float32(times) / (np.float32(times) + norms[passage])
        return logarithms[times]

    @numba.njit(cache=True, nogil=True)
    def highest(place, frequency, words, halves, octets, norms, logarithms):  # type: ignore[no-untyped-def]
        """A list's largest impact: stored, or that of a short list computed."""
        if place & 3:
            return words[(place >> 2) + 1 : (place >> 2) + 2].view(np.float32)[0]
        entries, start, _, codes, large = parts(place, frequency, words)
        most = np.float32(0)
        for at in range(entries):
            times = np.int64((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3)
            if times == 3:
                times = np.int64(halves[large])
                large += 1
            most = max(most, impact_of(times, np.int64(words[start + at]), norms, logarithms))
        return most

    @numba.njit(cache=True, nogil=True)
    def keep_best(heap, size, score):  # type: ignore[no-untyped-def]
        """A heap of the best scores so far, the lowest on top; its new size."""
        if size < len(heap):
            at = size
            while at > 0 and score < heap[(at - 1) // 2]:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = score
            return size + 1
        if score <= heap[0]:
            return size
        at = 0
        while 2 * at + 1 < size:
            below = 2 * at + 1
            if below + 1 < size and heap[below + 1] < heap[below]:
                below += 1
            if heap[below] >= score:
                break
            heap[at] = heap[below]
            at = below
        heap[at] = score
        return size

    @numba.njit(cache=True, nogil=True)
    def candidates(  # type: ignore[no-untyped-def]
        places,
        frequencies,
        weights,
        rise,
        words,
        halves,
        octets,
        norms,
        logarithms,
        passages,
        k,
        window,
    ):
        count = len(places)
        slack = np.float32(1 + 1e-5 + 3e-7 * count)  # more than sums in another order differ by
        most = np.empty(count, np.float32)
        for i in range(count):
            peak = highest(places[i], frequencies[i], words, halves, octets, norms, logarithms)
            most[i] = weights[i] * peak * rise
        order = np.argsort(most)
        places, frequencies, weights = places[order], frequencies[order], weights[order]
        bounds = np.cumsum(most[order]) * slack
        shapes, starts = places & 3, places >> 2
        entries, directories, gaps, codes, large = (
            np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
            np.empty(count, np.int64), np.empty(count, np.int64),
        )  # fmt: skip
        ats, heads = np.zeros(count, np.int64), np.empty(count, np.int64)
        for i in range(count):
            entries[i], directories[i], gaps[i], codes[i], large[i] = parts(
                places[i], frequencies[i], words
            )
            heads[i] = np.int64(words[directories[i]])
        firsts = large.copy()

        heap, filled = np.empty(k, np.float32), 0
        threshold = np.float32(0)
        results, sums, size = np.empty(4 * k, np.int64), np.empty(4 * k, np.float32), 0
        buffer = np.zeros(min(window, passages), np.float32)
        touched = np.empty(len(buffer), np.int64)
        chosen = np.empty(len(buffer), np.float32)
        looked_up = 0
        while True:
            while looked_up < count - 1 and bounds[looked_up] < threshold:
                looked_up += 1
            base = passages
            for i in range(looked_up, count):
                if ats[i] < entries[i]:
                    base = min(base, heads[i])
            if base >= passages:
                break
            end = base + len(buffer)

            found = 0
            for i in range(looked_up, count):
                at, passage, above = ats[i], heads[i], large[i]
                number, shape, weight = entries[i], shapes[i], weights[i]
                gap, code_at, start = gaps[i], codes[i], starts[i]
                while at < number and passage < end:
                    times = np.int64((octets[code_at + (at >> 2)] >> (2 * (at & 3))) & 3)
                    if times:
                        if times == 3:
                            times = np.int64(halves[above])
                            above += 1
                        added = weight * impact_of(times, passage, norms, logarithms)
                        before = buffer[passage - base]
                        if before == 0:
                            touched[found] = passage - base
                            found += 1
                        buffer[passage - base] = before + added
                    at += 1
                    if at < number:
                        if shape == 1:
                            passage += octets[gap + at]
                        elif shape == 2:
                            passage += halves[(gap >> 1) + at]
                        else:
                            passage = np.int64(words[start + at])
                ats[i], heads[i], large[i] = at, passage, above

            rest = bounds[looked_up - 1] if looked_up else np.float32(0)
            left = 0
            for j in range(found):
                offset = touched[j]
                if buffer[offset] * slack + rest >= threshold:
                    touched[left] = offset
                    left += 1
                else:
                    buffer[offset] = 0
            if looked_up:
                touched[:left].sort()
            for j in range(left):
                chosen[j] = buffer[touched[j]]
                buffer[touched[j]] = 0
            for i in range(looked_up - 1, -1, -1):
                rest = bounds[i]
                kept = 0
                at, passage, above = ats[i], heads[i], large[i]
                number, shape, weight = entries[i], shapes[i], weights[i]
                gap, code_at, start = gaps[i], codes[i], starts[i]
                for j in range(left):
                    if chosen[j] * slack + rest < threshold:
                        continue
                    wanted, score = base + touched[j], chosen[j]
                    if shape:  # the last block that does not begin after it
                        block = at // BLOCK
                        last = (number - 1) // BLOCK
                        if block < last and words[directories[i] + 2 * block + 2] <= wanted:
                            low, high = block + 1, last + 1
                            while high - low > 1:
                                middle = (low + high) // 2
                                if words[directories[i] + 2 * middle] <= wanted:
                                    low = middle
                                else:
                                    high = middle
                            at = low * BLOCK
                            passage = np.int64(words[directories[i] + 2 * low])
                            above = firsts[i] + np.int64(words[directories[i] + 2 * low + 1])
                    while at < number and passage < wanted:
                        above += ((octets[code_at + (at >> 2)] >> (2 * (at & 3))) & 3) == 3
                        at += 1
                        if at < number:
                            if shape == 1:
                                passage += octets[gap + at]
                            elif shape == 2:
                                passage += halves[(gap >> 1) + at]
                            else:
                                passage = np.int64(words[start + at])
                    if at < number and passage == wanted:
                        times = np.int64((octets[code_at + (at >> 2)] >> (2 * (at & 3))) & 3)
                        if times == 3:
                            times = np.int64(halves[above])
                        if times:
                            score += weight * impact_of(times, passage, norms, logarithms)
                    touched[kept], chosen[kept] = touched[j], score
                    kept += 1
                ats[i], heads[i], large[i] = at, passage, above
                left = kept

            for j in range(left):
                if chosen[j] * slack < threshold:
                    continue
                if size == len(results):  # those that have fallen behind go, or there is more room
                    kept = 0
                    for r in range(size):
                        if sums[r] * slack >= threshold:
                            results[kept], sums[kept] = results[r], sums[r]
                            kept += 1
                    size = kept
                    if 2 * size > len(results):
                        results = np.append(results, np.empty_like(results))
                        sums = np.append(sums, np.empty_like(sums))
                results[size], sums[size] = base + touched[j], chosen[j]
                size += 1
                filled = keep_best(heap, filled, chosen[j])
                if filled == k:
                    threshold = heap[0]
        kept = 0
        for r in range(size):
            if sums[r] * slack >= threshold:
                results[kept] = results[r]
                kept += 1
        return results[:kept]

    return candidates
