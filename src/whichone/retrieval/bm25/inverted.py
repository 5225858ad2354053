"""The inverted index on disk: blocks of passages made by all cores, merged out of core, opened mapped.

Terms are known by keys (`analysis.key_of`, or TF-IDF's buckets) and numbered in ascending order of these.
Impacts are not stored: they are computed from how often a term is in a passage and the passage's norm.
An interrupted build goes on with the blocks that are complete.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.files.folder import Folder
from whichone.files.manifest import ByteRanges, Compare
from whichone.files.mapped import mapped_array
from whichone.files.output import written_beside
from whichone.files.pools import available_cores, run_jobs
from whichone.retrieval.bm25.postings import (
    LOGARITHMS,
    MOST,
    Weighting,
    decode,
    decode_blocks,
    drqa_idf,
    encode,
    impacts,
    lucene_idf,
)

# One block of passages as sorted arrays on disk: what workers make and merging reads.


_SHIFT = 16
LARGEST = 1 << _SHIFT  # No block has more passages: their numbers inside it take two bytes

Numbers = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]


class Numbering(Protocol):
    """Gives texts their terms' numbers; it is sent to other processes."""

    @property
    def key_bits(self) -> int: ...

    def number(self, texts: pa.Array) -> tuple[npt.NDArray[np.signedinteger[Any]], Numbers, Keys | None]:
        """All numbers in a row, where negative ones do not count, how many each text has, and each number's key.

        There are no keys where numbers are keys.
        """
        ...


@dataclass(frozen=True)
class Job:
    """Texts to be indexed, of which the first has this row in the corpus."""

    number: int
    first: int
    texts: pa.Array

    def __str__(self) -> str:
        return f"passages {self.first:,} to {self.first + len(self.texts) - 1:,}"


@dataclass(frozen=True)
class PostingBlock:
    """(key, passage, count) of some passages, sorted; `starts` has a place for every key, and the end."""

    keys: Keys
    starts: npt.NDArray[np.int64]
    passages: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.uint16]
    lengths: Numbers
    first: int

    @classmethod
    def open(cls, folder: Path, number: int) -> Self:
        """Map a block's file; only what is touched is read."""
        raw = np.memmap(_path(folder, number), np.uint8, "r").view(np.ndarray)
        keys, postings, texts, first = raw[:32].view(np.int64).tolist()
        sizes = (8 * keys, 8 * (keys + 1), 4 * texts, 2 * postings, 2 * postings)
        ends = np.cumsum((32, *sizes)).tolist()
        parts = [raw[a:b] for a, b in itertools.pairwise(ends)]
        return cls(
            parts[0].view(np.uint64),
            parts[1].view(np.int64),
            parts[3].view(np.uint16),
            parts[4].view(np.uint16),
            parts[2].view(np.int32),
            first,
        )

    def write(self, folder: Path, number: int) -> None:
        with written_beside(_path(folder, number)) as beside, beside.open("wb") as file:
            sizes = (len(self.keys), len(self.passages), len(self.lengths), self.first)
            np.array(sizes, np.int64).tofile(file)
            for part in (self.keys, self.starts, self.lengths, self.passages, self.counts):
                part.tofile(file)

    def __len__(self) -> int:
        return len(self.lengths)


def exists(folder: Path, number: int) -> bool:
    return _path(folder, number).exists()


def remove(folder: Path, number: int) -> None:
    _path(folder, number).unlink()


def _path(folder: Path, number: int) -> Path:
    return folder / f"block-{number:06}.bin"


class BlockMaker:
    """Makes blocks, each by itself."""

    def __init__(self, numbering: Numbering, folder: Path) -> None:
        self._numbering, self._folder = numbering, folder

    def __call__(self, job: Job) -> None:
        _block(*self._numbering.number(job.texts), job.first).write(self._folder, job.number)


def _block(
    numbers: npt.NDArray[np.signedinteger[Any]], counts: Numbers, keys: Keys | None, first: int
) -> PostingBlock:
    texts = len(counts)
    good = numbers >= 0
    owners = np.repeat(np.arange(texts, dtype=np.uint16), counts)[good]
    numbers = numbers[good]
    lengths = np.bincount(owners, minlength=texts).astype(np.int32)
    distinct, ranks = np.unique(numbers if keys is None else keys, return_inverse=True)
    pairs = ranks if keys is None else ranks.take(numbers)
    del numbers, good
    pairs <<= _SHIFT
    pairs |= owners
    del owners
    pairs.sort()
    new = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]])[: len(pairs)])
    times = np.diff(new, append=len(pairs))
    pairs = pairs[new]
    del new
    return PostingBlock(
        distinct.astype(np.uint64),
        np.searchsorted(pairs, np.arange(len(distinct) + 1) << _SHIFT),
        (pairs & (LARGEST - 1)).astype(np.uint16),
        np.minimum(times, MOST).astype(np.uint16),
        lengths,
        first,
    )


# Blocks merged out of core: ranges of keys, each of about as many postings, each by itself.


POSTINGS = 4_000_000  # About so many postings are in memory at once
_ENCODED = 250_000  # and about so many are encoded at once, which takes far more memory

PARTS: dict[str, type[np.number[Any]]] = {
    "keys": np.uint64,
    "frequencies": np.int32,
    "places": np.int64,
    "postings": np.uint32,
}
_BINS = 16

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Range:
    """Keys from `low` to below `high`, the next range's first; the last has no end."""

    number: int
    low: int
    high: int | None

    def __str__(self) -> str:
        return f"range {self.number} of the terms' keys"


def ranges(folder: Path, count: int, key_bits: int) -> Iterator[Range]:
    """Cut the keys of all blocks so that each range has about `POSTINGS` postings."""
    shift = max(key_bits - _BINS, 0)
    postings = np.zeros(1 << _BINS, np.int64)
    for number in range(count):
        block = PostingBlock.open(folder, number)
        bins = (block.keys >> np.uint64(shift)).astype(np.int64)
        postings += np.bincount(bins, np.diff(block.starts), 1 << _BINS).astype(np.int64)
    edges = _cuts(postings, POSTINGS)
    lows = [0, *(edge << shift for edge in edges[1:])]
    highs: list[int | None] = [*lows[1:], None]
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        yield Range(number, low, high)


class Merger:
    """Merges one range of keys from all blocks into encoded lists, written as files of their own."""

    def __init__(self, folder: Path, count: int, norms: Path | None) -> None:
        self._folder, self._count, self._norms_file = folder, count, norms

    @functools.cached_property
    def _blocks(self) -> list[PostingBlock]:
        return [PostingBlock.open(self._folder, number) for number in range(self._count)]

    @functools.cached_property
    def _norms(self) -> Floats | None:
        return None if self._norms_file is None else mapped_array(self._norms_file)

    def __call__(self, wanted: Range) -> None:
        bounds = [_bounds(block, wanted) for block in self._blocks]
        pieces = [b.keys[s:e] for b, (s, e) in zip(self._blocks, bounds, strict=True)]
        keys = np.concatenate([np.zeros(0, np.uint64), *pieces])
        keys.sort()  # numpy's `unique` takes eight times as long
        keys = keys[np.diff(keys, prepend=~keys[:1]) != 0]
        terms = [np.searchsorted(keys, piece) for piece in pieces]
        frequency = np.zeros(len(keys), np.int64)
        many = []
        for block, (start, end), term in zip(self._blocks, bounds, terms, strict=True):
            many.append(np.diff(block.starts[start : end + 1]))
            frequency[term] += many[-1]
        firsts = np.cumsum(frequency) - frequency
        free, total = firsts.copy(), int(frequency.sum())
        passages, counts = np.empty(total, np.int32), np.empty(total, np.uint16)
        for block, (start, end), term, each in zip(self._blocks, bounds, terms, many, strict=True):
            first, last = int(block.starts[start]), int(block.starts[end])
            inside = np.repeat(free[term] - (block.starts[start:end] - first), each)
            at = inside + np.arange(last - first)
            passages[at] = block.passages[first:last].astype(np.int32) + block.first
            counts[at] = block.counts[first:last]
            free[term] += each
        size, places = 0, [np.zeros(0, np.int64)]
        with part(self._folder, wanted.number, "postings").open("wb") as file:
            for some in itertools.pairwise([*_cuts(frequency, _ENCODED), len(keys)]):
                lists = slice(*some)
                here = slice(int(firsts[some[0]]), int(free[some[1] - 1]))
                rows, often = passages[here].astype(np.int64), counts[here].astype(np.int64)
                impact = impacts(often.astype(np.float32), rows, self._norms)
                words, where = encode(rows, often, frequency[lists], impact)
                words.tofile(file)
                places.append(where + (size << 2))
                size += len(words)
        written: dict[str, npt.NDArray[Any]] = {
            "keys": keys,
            "frequencies": frequency,
            "places": np.concatenate(places),
        }
        for name, array in written.items():
            array.astype(PARTS[name]).tofile(part(self._folder, wanted.number, name))


def _cuts(sizes: npt.NDArray[np.int64], most: int) -> list[int]:
    """Where to cut so that each piece has about so many; the first is 0 where there is anything."""
    return np.flatnonzero(np.diff(np.maximum(np.cumsum(sizes) - 1, 0) // most, prepend=-1)).tolist()


def part(folder: Path, number: int, name: str) -> Path:
    return folder / f"range-{number:06}.{name}"


def join(folder: Path, count: int) -> None:
    """Put the ranges' files one after the other, as arrays."""
    for name, kind in PARTS.items():
        files = [part(folder, number, name) for number in range(count)]
        size = sum(file.stat().st_size for file in files) // kind().itemsize
        words = 0
        with (folder / f"{name}.npy").open("wb") as out:
            header = np.lib.format.header_data_from_array_1_0(np.zeros(0, kind))
            np.lib.format.write_array_header_1_0(out, {**header, "shape": (size,)})
            for number, file in enumerate(files):
                array = np.fromfile(file, kind)
                if name == "places":
                    array += words << 2
                    words += part(folder, number, "postings").stat().st_size // 4
                array.tofile(out)
    for name in PARTS:
        for number in range(count):
            part(folder, number, name).unlink()


def _bounds(block: PostingBlock, wanted: Range) -> tuple[int, int]:
    start = int(np.searchsorted(block.keys, np.uint64(wanted.low)))
    if wanted.high is None:
        return start, len(block.keys)
    return start, int(np.searchsorted(block.keys, np.uint64(wanted.high)))


# The inverted index on disk: blocks of passages made by all cores, merged out of core, opened mapped.


BLOCK = 1 << 14  # Passages that one worker analyses at a time; at most `LARGEST`.

BYTES = 64 << 20  # A block ends where its texts are longer than this

PIECE = 1000

LAYOUT = 2  # Of the files; an index of another layout is made again

FILES = ("keys.npy", "frequencies.npy", "places.npy", "postings.npy", "lengths.npy", "norms.npy")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Postings:
    """All lists of postings, mapped; those of term t are `frequencies[t]` passages at `places[t]`."""

    keys: npt.NDArray[np.uint64]
    frequencies: npt.NDArray[np.int32]
    places: Ints
    words: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.int32]
    norms: Floats | None
    weighting: Weighting
    # Compares bytes of `words` before they are used; None where the whole file was compared.
    compare_words: Compare | None = None
    # By how much an impact can be above what is stored as a list's largest, because norms were changed.
    rise: float = 1.0

    def __len__(self) -> int:
        return len(self.lengths)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernels read, as words of 32, 16 and 8 bits; no norms are an empty array.

        Norms are never writable: kernels are compiled anew for arrays that are.
        """
        norms = np.zeros(0, np.float32) if self.norms is None else self.norms
        read_only, words = np.broadcast_to(norms, norms.shape), self.words
        return words, words.view(np.uint16), words.view(np.uint8), read_only, LOGARITHMS

    @functools.cached_property
    def ceilings(self) -> Floats:
        """What each count of a term is worth at most, in the passage of the smallest norm."""
        if self.norms is None or not len(self.norms):
            return LOGARITHMS
        counts = np.arange(MOST + 1, dtype=np.float32)
        least: np.float32 = self.norms.min()
        return counts / np.maximum(counts + least, np.float32(1e-30))

    @functools.cached_property
    def floor(self) -> np.float32:
        """What one occurrence is worth at least, in the passage of the largest norm."""
        if self.norms is None or not len(self.norms):
            return np.float32(LOGARITHMS[1])
        return np.float32(1) / (np.float32(1) + np.float32(self.norms.max()))

    def idf(self, terms: Sequence[int]) -> npt.NDArray[np.float64]:
        """How much each term weighs, by the number of its passages."""
        formula = lucene_idf if self.weighting == "bm25" else drqa_idf
        return formula(self.frequencies.take(terms).astype(np.int64), len(self))

    def compare(self, terms: Sequence[int]) -> None:
        """Compare the lists of these terms, each of which ends where the next term's begins."""
        if self.compare_words is not None:
            starts = (self.places.take(terms) & ~3).tolist()
            ends = [
                int(self.places[t + 1]) & ~3 if t + 1 < len(self.places) else self.words.nbytes for t in terms
            ]
            self.compare_words(zip(starts, ends, strict=True))

    def impacts(self, term: int) -> tuple[Ints, Floats]:
        """A term's passages and its impacts there, which the term's idf multiplies."""
        all_impacts = decode(self.words, int(self.places[term]), int(self.frequencies[term]))
        return all_impacts[0], impacts(all_impacts[1], all_impacts[0], self.norms)

    def impacts_near(self, term: int, passages: Ints) -> tuple[Ints, Floats]:
        """The same of a part of the list that has these passages, where they are in it."""
        place, frequency = int(self.places[term]), int(self.frequencies[term])
        all_impacts = decode_blocks(self.words, place, frequency, passages)
        return all_impacts[0], impacts(all_impacts[1], all_impacts[0], self.norms)


def build(
    texts: Iterable[pa.Array],
    numbering: Numbering,
    folder: Path,
    *,
    norm: Callable[[npt.NDArray[np.int32], float], Floats] | None,
    workers: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
    block_bytes: int = BYTES,
) -> None:
    """Index a stream of batches of texts; `FILES` are in the folder afterwards.

    `norm` gives the norms of BM25 from lengths and their mean; without it impacts are TF-IDF's. A block ends where
    its texts are longer than `block_bytes`.
    """
    jobs = _jobs(texts, block_bytes)
    workers = workers or available_cores()
    few = list(itertools.islice(jobs, 2 if workers > 1 else 0))
    workers = 1 if len(few) == 1 else workers
    count = 0

    def missing() -> Iterator[Job]:
        nonlocal count
        for job in itertools.chain((few.pop(0) for _ in range(len(few))), jobs):
            count = job.number + 1
            if exists(folder, job.number):
                advance(len(job.texts))
            else:
                yield job

    for job, _ in run_jobs(BlockMaker(numbering, folder), missing(), workers):
        advance(len(job.texts))
    norms = _write_lengths(folder, count, norm)
    cuts = list(ranges(folder, count, numbering.key_bits))
    for _ in run_jobs(Merger(folder, count, norms), cuts, min(workers, len(cuts))):
        pass
    join(folder, len(cuts))
    for number in range(count):
        remove(folder, number)


def open_postings(folder: Folder) -> Postings:
    def load(name: str) -> npt.NDArray[Any]:
        return mapped_array(folder.path(f"{name}.npy"))

    weighted = folder.has("norms.npy")
    path, compare = folder.path_by_block("postings.npy")
    words = mapped_array(path)
    header = path.stat().st_size - words.nbytes

    def compare_words(ranges: ByteRanges) -> None:
        assert compare is not None
        compare((header + start, header + end) for start, end in ranges)

    return Postings(
        load("keys"),
        load("frequencies"),
        load("places"),
        words,
        load("lengths"),
        load("norms") if weighted else None,
        "bm25" if weighted else "tfidf",
        compare_words if compare else None,
    )


def _write_lengths(
    folder: Path, count: int, norm: Callable[[npt.NDArray[np.int32], float], Floats] | None
) -> Path | None:
    """Every passage's length, and its norm where there are norms; where the norms are."""
    lengths = [PostingBlock.open(folder, number).lengths for number in range(count)]
    together = np.concatenate(lengths) if lengths else np.zeros(0, np.int32)
    np.save(folder / "lengths.npy", together)
    if norm is None:
        return None
    mean = float(together.mean()) if len(together) else 1.0
    np.save(folder / "norms.npy", norm(together, mean))
    return folder / "norms.npy"


def _jobs(texts: Iterable[pa.Array], most: int) -> Iterator[Job]:
    """Batches of any size cut into blocks of bounded length, each with buffers of its own."""
    held: list[pa.Array] = []
    number = first = rows = size = 0
    for batch in texts:
        for start in range(0, len(batch), min(PIECE, BLOCK)):
            held.append(batch.slice(start, min(PIECE, BLOCK)).cast(pa.large_string()))
            rows, size = rows + len(held[-1]), size + held[-1].nbytes
            if rows + min(PIECE, BLOCK) > BLOCK or size >= most:
                yield Job(number, first, pa.concat_arrays(held))
                number, first = number + 1, first + rows
                held, rows, size = [], 0, 0
    if rows:
        yield Job(number, first, pa.concat_arrays(held))
