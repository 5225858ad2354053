"""The loops over postings in numba: MaxScore, the best by real weights, and looking single passages up.

MaxScore goes over windows of passages, and a passage's length is read only where it may be among the best:
Turtle and Flood, *Query evaluation: strategies and optimizations* (1995). What each count of a term can be worth, whatever the
passage's length, is added up a window at a time, in a buffer that fits into a core's cache; lists that cannot bring a passage
among the best are only looked up. Passages that these bounds leave get their score. As the worst of the best so far
rises, more lists are only looked up and fewer passages are left.

What numba compiled is kept on disk under the functions' source file and the values they close over. A closed-over function is another
value in each process, so that nothing would ever be taken from there; and a function in another file could change unseen. So all of
them are functions of this one file, which is imported where numba is. A plain 0 is a type of its own, for which all that it is given
to is compiled once more: hence `np.int64(0)`.
"""

from typing import Any
from uuid import uuid4

import numba
import numpy as np

from whichone.retrieval.bm25.postings import BLOCK


def compiled(function: Any) -> Any:
    """A function that numba compiles and keeps on disk, each compilation in a file of its own.

    numba numbers these files: of two processes that compile at once, one would run what the other compiled for other types or values.
    """
    dispatcher = numba.njit(cache=True, nogil=True)(function)
    if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT
        dispatcher._cache._cache_file._data_name = lambda number: f"{function.__qualname__}.{uuid4().hex}.nbc"
    return dispatcher


NEAR = 48  # A list is read through where each of so many of its entries, on average, would be looked for


@compiled
def parts(place, frequency, words):  # type: ignore[no-untyped-def]
    """Number of entries, and where directory (in words), gaps, codes and large counts begin (in bytes)."""
    start, shape = place >> 2, place & 3
    if shape == 0:
        codes = start + frequency
        return (frequency, start, 4 * start, 4 * codes, 2 * (codes + (frequency + 15) // 16))
    entries = np.int64(words[start])
    gaps = start + 2 + 2 * ((entries + BLOCK - 1) // BLOCK)
    codes = gaps + ((entries + 3) // 4 if shape == 1 else (entries + 1) // 2)
    return entries, start + 2, 4 * gaps, 4 * codes, 2 * (codes + (entries + 15) // 16)


@compiled
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


@compiled
def largest(place, frequency, rise, ceilings, words, halves, octets):  # type: ignore[no-untyped-def]
    """What an impact in a list is at most: stored, or by the counts of a short list."""
    if place & 3:
        return words[(place >> 2) + 1 : (place >> 2) + 2].view(np.float32)[0] * rise
    entries, _, _, codes, large = parts(place, frequency, words)
    most = np.float32(0)
    for at in range(entries):
        times = np.int64((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3)
        if times == 3:
            times = np.int64(halves[large])
            large += 1
        most = max(most, ceilings[times])
    return most


@compiled
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


@compiled
def count_in(passage, cursor, place, halves, octets):  # type: ignore[no-untyped-def]
    """How often the passage that the cursor was moved to has the term."""
    at, reached, above = cursor
    if at == place[0] or reached != passage:
        return 0
    times = np.int64((octets[place[3] + (at >> 2)] >> (2 * (at & 3))) & 3)
    return np.int64(halves[above]) if times == 3 else times


@compiled
def drop(touched, left, buffer, slack, rest, threshold):  # type: ignore[no-untyped-def]
    """Only passages that can be among the best stay touched; how many."""
    kept = 0
    for j in range(left):
        offset = touched[j]
        if buffer[offset] * slack + rest >= threshold:
            touched[kept] = offset
            kept += 1
        else:
            buffer[offset] = 0
    return kept


def adder(shape: int) -> Any:
    """Compiled for one shape of lists: asking each entry for it would take longer than adding."""

    @compiled
    def add_up(  # type: ignore[no-untyped-def]
        base, cursor, place, weight, most, words, halves, octets, ceilings, buffer, touched, found, new
    ):  # fmt: skip
        """Add what a list can be worth in one window, to passages that have a sum already or, if `new`, to all."""
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
                    buffer[offset] = before + min(weight * ceilings[times], most)
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


@compiled
def add_up(shape, *given):  # type: ignore[no-untyped-def]
    if shape == 1:
        return add_bytes(*given)
    if shape == 2:
        return add_shorts(*given)
    return add_wide(*given)


@compiled
def best(  # type: ignore[no-untyped-def]
    places, frequencies, weights, rise, near, ceilings, floor, words, halves, octets, norms, logarithms,
    passages, k, window,
):  # fmt: skip
    count = len(places)
    slack = np.float32(1 + near)
    most = np.empty(count, np.float32)
    for i in range(count):
        most[i] = weights[i] * largest(places[i], frequencies[i], rise, ceilings, words, halves, octets)
    order = np.argsort(most)
    most = most[order]
    bounds = np.cumsum(most) * slack
    shapes = places & 3
    lists = [parts(places[i], frequencies[i], words) for i in range(count)]
    cursors = [(np.int64(0), np.int64(words[part[1]]), part[4]) for part in lists]
    scored = [(np.int64(0), np.int64(words[part[1]]), part[4]) for part in lists]

    kept, marks, size, tried = np.empty(k, np.int64), np.empty(k, np.float32), np.int64(0), 0
    threshold = np.float32(0)
    for i in range(count):
        if frequencies[i] >= k:  # so many passages have at least this
            threshold = max(threshold, weights[i] * floor)
    buffer = np.zeros(min(window, passages), np.float32)
    touched, spare = np.empty(len(buffer) + 1, np.int64), np.empty(1, np.int64)
    looked_up = 0
    while True:
        while looked_up < count - 1 and bounds[looked_up] < threshold:
            looked_up += 1
        base = passages
        for n in range(looked_up, count):
            if cursors[order[n]][0] < lists[order[n]][0]:
                base = min(base, cursors[order[n]][1])
        if base >= passages:
            break
        left = np.int64(0)
        for n in range(looked_up, count):
            i = order[n]
            cursors[i], left = add_up(
                shapes[i], base, cursors[i], lists[i], weights[i], most[n], words, halves, octets,
                ceilings, buffer, touched, left, True,
            )  # fmt: skip
        ordered = False
        for n in range(looked_up - 1, -1, -1):
            i = order[n]
            left = drop(touched, left, buffer, slack, bounds[n], threshold)
            if left * NEAR * passages > lists[i][0] * len(buffer):
                cursors[i] = seek(base, cursors[i], shapes[i], lists[i], words, halves, octets)
                cursors[i], _ = add_up(
                    shapes[i], base, cursors[i], lists[i], weights[i], most[n], words, halves,
                    octets, ceilings, buffer, spare, np.int64(0), False,
                )  # fmt: skip
                continue
            if not ordered:
                touched[:left].sort()
                ordered = True
            for j in range(left):
                passage = base + touched[j]
                cursors[i] = seek(passage, cursors[i], shapes[i], lists[i], words, halves, octets)
                times = count_in(passage, cursors[i], lists[i], halves, octets)
                buffer[touched[j]] += min(weights[i] * ceilings[times], most[n])
        left = drop(touched, left, buffer, slack, np.float32(0), threshold)
        touched[:left].sort()
        for j in range(left):
            passage, bound = base + touched[j], buffer[touched[j]]
            buffer[touched[j]] = 0
            if bound * slack < threshold:
                continue
            tried += 1
            score = np.float32(0)
            for i in range(count):  # in the order of the terms: the same sum to the last bit
                scored[i] = seek(passage, scored[i], shapes[i], lists[i], words, halves, octets)
                times = count_in(passage, scored[i], lists[i], halves, octets)
                if times and len(norms):
                    impact = np.float32(times) / (np.float32(times) + norms[passage])
                    score += weights[i] * impact
                elif times:
                    score += weights[i] * logarithms[times]
            size = keep(kept, marks, size, passage, score)
            if size == k:
                threshold = max(threshold, marks[0])
    return kept[:size], marks[:size], tried


def summer(shape: int) -> Any:
    """Compiled for one shape of lists, as `adder` is."""

    @compiled
    def add_list(  # type: ignore[no-untyped-def]
        place, weight, words, halves, octets, norms, logarithms, scores, touched, count
    ):
        """Add a whole list's weights to the scores of its passages; how many passages were touched by now."""
        number, directory, gaps, codes, above = place
        passage, large = np.int64(words[directory]), above
        last = number - 1
        for at in range(number):
            times = np.int64((octets[codes + (at >> 2)] >> (2 * (at & 3))) & 3)
            if times:
                if times == 3:
                    times = np.int64(halves[large])
                    large += 1
                before = scores[passage]
                touched[count] = passage
                count += before == 0
                if len(norms):
                    impact = np.float32(times) / (np.float32(times) + norms[passage])
                    scores[passage] = before + weight * impact
                else:
                    scores[passage] = before + weight * logarithms[times]
            ahead = min(at + 1, last)
            if shape == 1:
                passage += octets[gaps + ahead]
            elif shape == 2:
                passage += halves[(gaps >> 1) + ahead]
            else:
                passage = np.int64(words[directory + ahead])
        return count

    return add_list


sum_wide, sum_bytes, sum_shorts = summer(0), summer(1), summer(2)


@compiled
def best_of_all(  # type: ignore[no-untyped-def]
    places, frequencies, weights, words, halves, octets, norms, logarithms, scores, touched, k
):
    """The same as `best` by adding up every list: sooner where they are short. `scores` is all 0 before and after."""
    count = np.int64(0)
    for i in range(len(places)):
        list_ = parts(places[i], frequencies[i], words)
        shape = places[i] & 3
        given = (list_, weights[i], words, halves, octets, norms, logarithms, scores, touched, count)
        if shape == 1:
            count = sum_bytes(*given)
        elif shape == 2:
            count = sum_shorts(*given)
        else:
            count = sum_wide(*given)
    kept, marks, size = np.empty(k, np.int64), np.empty(k, np.float32), np.int64(0)
    for i in range(count):
        passage = np.int64(touched[i])
        score = scores[passage]
        scores[passage] = 0
        if size < k or score >= marks[0]:
            size = keep(kept, marks, size, passage, score)
    return kept[:size], marks[:size]


@compiled
def best_real(places, frequencies, weights, documents, impacts, scores, k):  # type: ignore[no-untyped-def]
    touched = np.empty(min(frequencies.sum(), len(scores)) + 1, np.int32)
    count = 0
    for i in range(len(places)):
        for at in range(places[i], places[i] + frequencies[i]):
            passage = documents[at]
            touched[count] = passage
            count += scores[passage] == 0
            scores[passage] += weights[i] * impacts[at]
    k = min(k, count)
    kept, marks, size = np.empty(k, np.int64), np.empty(k, np.float32), np.int64(0)
    for i in range(count):
        passage = touched[i]
        size = keep(kept, marks, size, np.int64(passage), scores[passage])
        scores[passage] = 0
    return kept[:size], marks[:size]


@compiled
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
