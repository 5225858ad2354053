"""Lists of postings in few bytes: gaps between passages, and how often a term occurs in each.

A list is a row of 32-bit words of one of three shapes, whichever is shortest:

- wide: the passages themselves, 4 bytes each;
- narrow: gaps of 1 or 2 bytes. Where a gap is larger, entries of the largest gap that count no occurrence
  come before it. In front there are the number of entries, the largest impact, and for each `BLOCK` entries
  the first one's passage and the number of frequencies above 2 so far, so that a block is read by itself.

After these come the frequencies, 2 bits each (0: no occurrence, 3: see below), and those above 2, 2 bytes each.
A term's `place` is where its list starts, in words, times 4, plus its shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from whichone.files.mapped import PathOf, mapped_array

BLOCK = 256
MOST = 65_535  # A term counts at most so often in one passage

WIDE, BYTES, SHORTS = 0, 1, 2
_LARGEST = {BYTES: 255, SHORTS: 65_535}
_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {BYTES: np.uint8, SHORTS: np.uint16}

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]
_Number = TypeVar("_Number", int, Ints)

_FOUR = np.array([[(n >> s) & 3 for s in (0, 2, 4, 6)] for n in range(256)], np.uint8)
_UNPACKED = _FOUR.view(np.uint32).reshape(-1)  # The four 2-bit numbers of each byte, as bytes of one word


@dataclass(frozen=True)
class Layout:
    """Where the parts of one list are: offsets in bytes, `directory` in words."""

    shape: int
    entries: int
    directory: int
    gaps: int
    codes: int
    frequent: int

    @property
    def blocks(self) -> int:
        return 0 if self.shape == WIDE else _up(self.entries, BLOCK)


def layout(words: Words, place: int, frequency: int) -> Layout:
    """Read where a list's parts are; `frequency` is the number of its passages."""
    start, shape = place >> 2, place & 3
    if shape == WIDE:
        codes = start + frequency
        return Layout(shape, frequency, start, 4 * start, 4 * codes, 4 * (codes + _up(frequency, 16)))
    entries = int(words[start])
    gaps = start + 2 + 2 * _up(entries, BLOCK)
    codes = gaps + _up(entries, 4 if shape == BYTES else 2)
    return Layout(shape, entries, start + 2, 4 * gaps, 4 * codes, 4 * (codes + _up(entries, 16)))


def decode(words: Words, place: int, frequency: int) -> tuple[Ints, npt.NDArray[np.float32]]:
    """A whole list: its passages in ascending order, and how often the term is in each."""
    at = layout(words, place, frequency)
    octets = words.view(np.uint8)
    n = at.entries
    codes = _codes(octets[at.codes : at.codes + _up(n, 4)])[:n]
    passages: Ints
    if at.shape == WIDE:
        passages = words[place >> 2 : (place >> 2) + n].astype(np.int64)
    else:
        kind = _TYPES[at.shape]
        gaps = octets[at.gaps : at.gaps + n * kind().itemsize].view(kind)
        passages = np.cumsum(gaps, dtype=np.int64)
        passages += int(words[at.directory])
    counts = codes.astype(np.float32)
    high = np.flatnonzero(codes == 3)
    if len(high):
        counts[high] = octets[at.frequent : at.frequent + 2 * len(high)].view(np.uint16)
    if n != frequency:
        real = codes != 0
        return passages[real], counts[real]
    return passages, counts


def decode_blocks(
    words: Words, place: int, frequency: int, wanted: Ints
) -> tuple[Ints, npt.NDArray[np.float32]]:
    """The same of those blocks alone that may have the wanted passages, which are in ascending order."""
    at = layout(words, place, frequency)
    if at.blocks < 16:
        return decode(words, place, frequency)
    directory = words[at.directory : at.directory + 2 * at.blocks].reshape(-1, 2)
    blocks = np.searchsorted(directory[:, 0], wanted.astype(np.uint32), "right") - 1
    blocks = np.unique(blocks[blocks >= 0])
    if not len(blocks):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if 4 * len(blocks) > at.blocks:  # reading all of it in one go takes less
        return decode(words, place, frequency)
    octets, kind = words.view(np.uint8), _TYPES[at.shape]
    entries = (blocks[:, None] * BLOCK + np.arange(BLOCK)).reshape(len(blocks), BLOCK)
    gaps = octets[at.gaps : at.gaps + at.entries * kind().itemsize].view(kind)
    inside = entries < at.entries
    all_entries = gaps.take(np.minimum(entries, at.entries - 1)).astype(np.int64)
    all_entries[:, 0] = directory[blocks, 0]
    passages = np.cumsum(all_entries, axis=1)
    quarters = (blocks[:, None] * (BLOCK // 4) + np.arange(BLOCK // 4)).reshape(-1)
    last = _up(at.entries, 4) - 1
    codes = _codes(octets[at.codes : at.codes + last + 1].take(np.minimum(quarters, last)))
    codes = codes.reshape(len(blocks), BLOCK) * inside
    counts = codes.astype(np.float32)
    high = codes == 3
    if high.any():
        order = np.cumsum(high, axis=1) - 1 + directory[blocks, 1].astype(np.int64)[:, None]
        above = octets[at.frequent :][: 2 * (int(order.max()) + 1)].view(np.uint16)
        counts[high] = above[order[high]]
    real = codes != 0
    return passages[real], counts[real]


def _codes(packed: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return _UNPACKED.take(packed).view(np.uint8)


def encode(
    passages: Ints, counts: Ints, frequency: Ints, impacts: npt.NDArray[np.float32]
) -> tuple[Words, Ints]:
    """All lists of many terms one after the other: the words, and each term's place.

    `frequency` says how many of the passages, which are in ascending order, belong to each term.
    """
    firsts = np.cumsum(frequency) - frequency
    gaps = np.diff(passages, prepend=0)
    gaps[firsts] = 0
    codes = np.minimum(counts, 3).astype(np.uint8)
    frequent = np.add.reduceat((codes == 3).astype(np.int64), firsts)
    above = _up(frequent, 2)
    skips = {s: np.maximum(gaps - 1, 0) // _LARGEST[s] for s in (BYTES, SHORTS)}
    entries = {s: frequency + np.add.reduceat(skips[s], firsts) for s in (BYTES, SHORTS)}
    sizes = np.stack(
        [
            frequency + _up(frequency, 16) + above,
            *(2 + 2 * _up(n, BLOCK) + _up(n, 6 - 2 * s) + _up(n, 16) + above for s, n in entries.items()),
        ]
    )
    shapes = np.argmin(sizes, axis=0)
    size = sizes.min(axis=0)
    starts = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint32)
    shape_of = np.repeat(shapes, frequency)
    peaks = np.maximum.reduceat(impacts, firsts).astype(np.float32)
    for shape in (WIDE, BYTES, SHORTS):
        lists, mine = shapes == shape, shape_of == shape
        if not lists.any():
            continue
        where, high = starts[lists], np.minimum(counts[mine & (codes == 3)], MOST)
        many, code = frequency[lists], codes[mine]
        if shape == WIDE:
            n, after = many, where + many
            _put(out, where, many, passages[mine].astype(np.uint32))
        else:
            n = entries[shape][lists]
            after, code = _put_narrow(
                out, shape, where, many, n, gaps[mine], skips[shape][mine], code,
                passages[firsts[lists]], peaks[lists],
            )  # fmt: skip
        _put(out, after, _up(n, 16), _packed(_padded(code, n, 16)))
        _put(
            out,
            after + _up(n, 16),
            above[lists],
            _padded(high.astype(np.uint16), frequent[lists], 2).view(np.uint32),
        )
    return out, (starts << 2) | shapes


def _put_narrow(
    out: Words,
    shape: int,
    where: Ints,
    frequency: Ints,
    entries: Ints,
    gaps: Ints,
    skips: Ints,
    codes: npt.NDArray[np.uint8],
    first_passages: Ints,
    peaks: npt.NDArray[np.float32],
) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Write lists of gaps up to their frequencies; where these go, and their codes with the skips."""
    largest, kind, blocks = _LARGEST[shape], _TYPES[shape], _up(entries, BLOCK)
    total = int(entries.sum())
    real = np.arange(len(gaps)) + np.cumsum(skips)
    all_gaps = np.full(total, largest, np.int64)
    all_gaps[real] = gaps - skips * largest
    all_codes = np.zeros(total, np.uint8)
    all_codes[real] = codes
    begins = np.cumsum(entries) - entries
    out[where] = entries
    out[where + 1] = peaks.view(np.uint32)
    owner = np.repeat(np.arange(len(entries)), blocks)
    block_at = begins[owner] + BLOCK * (np.arange(len(owner)) - (np.cumsum(blocks) - blocks)[owner])
    walked = np.cumsum(all_gaps)
    high = np.cumsum(all_codes == 3) - (all_codes == 3)
    directory = np.empty((len(owner), 2), np.uint32)
    directory[:, 0] = first_passages[owner] + walked[block_at] - walked[begins[owner]]
    directory[:, 1] = high[block_at] - high[begins[owner]]
    _put(out, where + 2, 2 * blocks, directory.reshape(-1))
    each = 4 // kind().itemsize
    place = where + 2 + 2 * blocks
    _put(out, place, _up(entries, each), _padded(all_gaps.astype(kind), entries, each).view(np.uint32))
    return place + _up(entries, each), all_codes


def _put(out: Words, where: Ints, counts: Ints, words: Words) -> None:
    out[_spread(where, counts)] = words


def _padded(values: Unsigned, counts: Ints, multiple: int) -> Unsigned:
    """Rows of values one after the other, each filled up with zeros to a multiple."""
    room = _up(counts, multiple) * multiple
    filled = np.zeros(int(room.sum()), values.dtype)
    filled[_spread(np.cumsum(room) - room, counts)] = values
    return filled


def _packed(codes: Unsigned) -> Words:
    four = codes.reshape(-1, 4)
    return (four[:, 0] | four[:, 1] << 2 | four[:, 2] << 4 | four[:, 3] << 6).view(np.uint32)


def _spread(where: Ints, counts: Ints) -> Ints:
    """Consecutive places from each start on, as many as counted."""
    return np.repeat(where - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))


def _up(count: _Number, multiple: int) -> _Number:
    """How many of `multiple` it takes, rounded up."""
    return -(-count // multiple)


# Lists of postings whose impacts are real numbers that a model has written: not compressed, mapped.


_Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RealPostings:
    """Those of term t are `frequencies[t]` documents and weights at `places[t]`."""

    places: Ints
    frequencies: Ints
    documents: npt.NDArray[np.int32]
    weights: _Floats
    lengths: npt.NDArray[np.int32]

    @classmethod
    def open(cls, file: PathOf) -> Self:
        def load(name: str) -> npt.NDArray[Any]:
            return mapped_array(file(f"{name}.npy"))

        starts = np.asarray(load("starts"))
        return cls(starts[:-1], np.diff(starts), load("documents"), load("weights"), load("lengths"))

    def __len__(self) -> int:
        return len(self.lengths)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.documents, self.weights

    def idf(self, terms: Sequence[int]) -> npt.NDArray[np.float64]:
        """The weights have it in them."""
        return np.ones(len(terms))

    def impacts(self, term: int) -> tuple[Ints, _Floats]:
        start = int(self.places[term])
        place = slice(start, start + int(self.frequencies[term]))
        return self.documents[place].astype(np.int64), self.weights[place]

    def impacts_near(self, term: int, passages: Ints) -> tuple[Ints, _Floats]:
        return self.impacts(term)


# What one posting adds to a score: Lucene's BM25 and DrQA's TF-IDF.


Weighting = Literal["bm25", "tfidf"]

# TF-IDF's impact of a count, without regard to length.
LOGARITHMS: _Floats = np.log1p(np.arange(MOST + 1)).astype(np.float32)


def impacts(counts: _Floats, passages: Ints, norms: _Floats | None) -> _Floats:
    """count / (count + norm) for BM25; ln(1 + count) where there are no norms. In single precision."""
    if norms is None:
        return LOGARITHMS.take(counts.astype(np.int64))
    return counts / (counts + norms.take(passages))


def lucene_idf(frequency: npt.NDArray[np.int64], passages: int) -> npt.NDArray[np.float64]:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), never negative."""
    return np.log1p((passages - frequency + 0.5) / (frequency + 0.5))


def drqa_idf(frequency: npt.NDArray[np.int64], pages: int) -> npt.NDArray[np.float64]:
    """max(0, ln((N - n + 0.5) / (n + 0.5)))."""
    return np.asarray(np.maximum(np.log((pages - frequency + 0.5) / (frequency + 0.5)), 0), np.float64)


def length_norms(lengths: npt.NDArray[np.int32], mean: float, k1: float, b: float) -> npt.NDArray[np.float32]:
    """k1 (1 - b + b length / mean length); Lucene's formula has no (k1 + 1) factor."""
    return (k1 * (1 - b + b * lengths.astype(np.float64) / (mean or 1.0))).astype(np.float32)
