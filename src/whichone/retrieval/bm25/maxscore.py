"""MaxScore over windows of passages in numba: lists that cannot bring a passage among the best are only looked up.

Turtle and Flood, *Query evaluation: strategies and optimizations* (1995). The lists that can are added up a window at a time,
in a buffer that fits into a core's cache. As the worst of the best so far rises, more lists are only looked up.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from whichone.retrieval.bm25.lists import BLOCK

WINDOW = 1 << 15
"""Passages whose sums fit into a core's cache."""
NEAR = 48
"""A list is read through where each of so many of its entries, on average, would be looked for."""


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
    def seek(wanted, cursor, shape, place, words, halves, octets):  # type: ignore[no-untyped-def]
        """The cursor at the first entry that is not before a passage; blocks in between are not read."""
        at, passage, above = cursor
        number, directory, gaps, codes, firsts = place
        if shape:
            low, high = at // BLOCK, (number - 1) // BLOCK
            if low < high and words[directory + 2 * low + 2] <= wanted:
                low += 1
                while low < high:
                    middle = (low + high + 1) // 2
                    if words[directory + 2 * middle] <= wanted:
                        low = middle
                    else:
                        high = middle - 1
                at = low * BLOCK
                passage = np.int64(words[directory + 2 * low])
                above = firsts + np.int64(words[directory + 2 * low + 1])
        while at < number and passage < wanted:
            above += ((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3) == 3
            at += 1
            if at < number:
                if shape == 1:
                    passage += octets[gaps + at]
                elif shape == 2:
                    passage += halves[(gaps >> 1) + at]
                else:
                    passage = np.int64(words[directory + at])
        return at, passage, above

    def adder(shape: int) -> Any:
        """Compiled for one shape of lists: asking each entry for it would take longer than adding."""

        @numba.njit(cache=True, nogil=True)
        def add_up(  # type: ignore[no-untyped-def]
            base, cursor, place, weight, words, halves, octets, norms, logarithms, buffer, touched, found, new
        ):  # fmt: skip
            """Add a list's weights in one window, to passages that have a sum already or, if `new`, to all."""
            at, passage, above = cursor
            number, directory, gaps, codes, _ = place
            last = number - 1
            end = base + len(buffer)
            while at < number and passage < end:
                times = np.int64((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3)
                if times:
                    if times == 3:
                        times = np.int64(halves[above])
                        above += 1
                    offset = passage - base
                    before = buffer[offset]
                    touched[found] = offset
                    found += new & (before == 0)
                    if new or before > 0:
                        impact = impact_of(times, passage, norms, logarithms)
                        buffer[offset] = before + weight * impact
                at += 1
                ahead = min(at, last)
                if shape == 1:
                    passage += octets[gaps + ahead]
                elif shape == 2:
                    passage += halves[(gaps >> 1) + ahead]
                else:
                    passage = np.int64(words[directory + ahead])
            return (at, passage, above), found

        return add_up

    add_wide, add_bytes, add_shorts = adder(0), adder(1), adder(2)

    @numba.njit(cache=True, nogil=True)
    def add_up(shape, *given):  # type: ignore[no-untyped-def]
        if shape == 1:
            return add_bytes(*given)
        if shape == 2:
            return add_shorts(*given)
        return add_wide(*given)

    @numba.njit(cache=True, nogil=True)
    def candidates(  # type: ignore[no-untyped-def]
        places, frequencies, weights, rise, near, words, halves, octets, norms, logarithms, passages, k, window
    ):  # fmt: skip
        count = len(places)
        slack = np.float32(1 + near)
        most = np.empty(count, np.float32)
        for i in range(count):
            peak = highest(places[i], frequencies[i], words, halves, octets, norms, logarithms)
            most[i] = weights[i] * peak * rise
        order = np.argsort(most)
        weights, shapes = weights[order], places[order] & 3
        bounds = np.cumsum(most[order]) * slack
        lists = [parts(places[i], frequencies[i], words) for i in order]
        cursors = [(np.int64(0), np.int64(words[part[1]]), part[4]) for part in lists]

        heap, filled = np.empty(k, np.float32), 0
        threshold = np.float32(0)
        results, sums, size = np.empty(4 * k, np.int64), np.empty(4 * k, np.float32), 0
        buffer = np.zeros(min(window, passages), np.float32)
        touched, spare = np.empty(len(buffer) + 1, np.int64), np.empty(1, np.int64)
        looked_up = 0
        while True:
            while looked_up < count - 1 and bounds[looked_up] < threshold:
                looked_up += 1
            base = passages
            for i in range(looked_up, count):
                if cursors[i][0] < lists[i][0]:
                    base = min(base, cursors[i][1])
            if base >= passages:
                break
            left = 0
            for i in range(looked_up, count):
                cursors[i], left = add_up(
                    shapes[i], base, cursors[i], lists[i], weights[i], words, halves, octets, norms,
                    logarithms, buffer, touched, left, True,
                )  # fmt: skip
            ordered = False
            for i in range(looked_up - 1, -1, -1):
                kept = 0
                for j in range(left):
                    offset = touched[j]
                    if buffer[offset] * slack + bounds[i] >= threshold:
                        touched[kept] = offset
                        kept += 1
                    else:
                        buffer[offset] = 0
                left = kept
                if left * NEAR * passages > lists[i][0] * len(buffer):
                    cursors[i] = seek(base, cursors[i], shapes[i], lists[i], words, halves, octets)
                    cursors[i], _ = add_up(
                        shapes[i], base, cursors[i], lists[i], weights[i], words, halves, octets,
                        norms, logarithms, buffer, spare, 0, False,
                    )  # fmt: skip
                    continue
                if not ordered:
                    touched[:left].sort()
                    ordered = True
                for j in range(left):
                    passage = base + touched[j]
                    cursors[i] = seek(
                        passage, cursors[i], shapes[i], lists[i], words, halves, octets
                    )
                    at, reached, above = cursors[i]
                    if at < lists[i][0] and reached == passage:
                        codes = lists[i][3]
                        times = np.int64((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3)
                        if times == 3:
                            times = np.int64(halves[above])
                        if times:
                            impact = impact_of(times, passage, norms, logarithms)
                            buffer[touched[j]] += weights[i] * impact
            for j in range(left):
                score = buffer[touched[j]]
                buffer[touched[j]] = 0
                if score * slack < threshold or (count == 1 and filled == k and score <= threshold):
                    continue  # sums of one list are exact, and of equal ones the first count
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
                results[size], sums[size] = base + touched[j], score
                size += 1
                filled = keep_best(heap, filled, score)
                if filled == k:
                    threshold = heap[0]
        return results[:size][sums[:size] * slack >= threshold]

    return candidates
