"""The inverted index on disk: blocks of passages made by all cores, merged out of core, opened mapped.

Terms are known by keys (`analysis.key_of`, or TF-IDF's buckets) and numbered in ascending order of these.
Impacts are not stored: they are computed from how often a term is in a passage and the passage's norm.
An interrupted build goes on with the blocks that are complete.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.files.folder import Folder
from whichone.files.pools import available_cores, run_jobs
from whichone.retrieval.bm25 import blocks
from whichone.retrieval.bm25.blocks import Block, BlockMaker, Job, Numbering
from whichone.retrieval.bm25.lists import MOST, decode, decode_blocks, peak
from whichone.retrieval.bm25.merging import Merger, join, ranges, remove_blocks
from whichone.retrieval.bm25.weights import (
    LOGARITHMS,
    Weighting,
    drqa_idf,
    impacts,
    length_norms,
    lucene_idf,
)

BLOCK = 50_000
"""Passages that one worker analyses at a time; at most `blocks.LARGEST`."""

BYTES = 64 << 20
"""A block ends where its texts are longer than this."""

PIECE = 1000

LAYOUT = 2
"""Of the files; an index of another layout is made again."""

FILES = ("keys.npy", "frequencies.npy", "places.npy", "postings.npy", "lengths.npy", "norms.npy")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


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
    rise: float = 1.0
    """By how much an impact can be above what is stored as a list's largest, because norms were changed."""

    def __len__(self) -> int:
        return len(self.lengths)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernels read, as words of 32, 16 and 8 bits; no norms are an empty array."""
        norms = np.zeros(0, np.float32) if self.norms is None else self.norms
        words = self.words
        return words, words.view(np.uint16), words.view(np.uint8), norms, LOGARITHMS

    @functools.cached_property
    def ceilings(self) -> Floats:
        """What each count of a term is worth at most, in the passage of the smallest norm."""
        if self.norms is None or not len(self.norms):
            return LOGARITHMS
        counts = np.arange(MOST + 1, dtype=np.float32)
        least: np.float32 = self.norms.min()
        ceilings: Floats = counts / np.maximum(counts + least, np.float32(1e-30))
        return ceilings

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

    def impacts(self, term: int) -> tuple[Ints, Floats]:
        """A term's passages and its impacts there, which the term's idf multiplies."""
        all_impacts = decode(self.words, int(self.places[term]), int(self.frequencies[term]))
        return all_impacts[0], impacts(all_impacts[1], all_impacts[0], self.norms)

    def impacts_near(self, term: int, passages: Ints) -> tuple[Ints, Floats]:
        """The same of a part of the list that has these passages, where they are in it."""
        place, frequency = int(self.places[term]), int(self.frequencies[term])
        all_impacts = decode_blocks(self.words, place, frequency, passages)
        return all_impacts[0], impacts(all_impacts[1], all_impacts[0], self.norms)

    def peak(self, term: int) -> float | None:
        """The largest of a term's impacts; None where its list is so short that it is not kept."""
        return peak(self.words, int(self.places[term]))


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
    few = list(itertools.islice(jobs, 2))
    workers = min(workers or available_cores(), len(few) if len(few) < 2 else 1 << 16)
    count = len(few)

    def missing() -> Iterator[Job]:
        nonlocal count
        for job in itertools.chain(few, jobs):
            count = job.number + 1
            if blocks.exists(folder, job.number):
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
    remove_blocks(folder, count)


def go_on_or_start(folder: Folder, description: dict[str, Any]) -> None:
    """Keep the blocks that an interrupted build of this very index left; remove others."""
    begun = {"description": description, "block": BLOCK}
    if begun not in folder.journal.read():
        for file in folder.partial.iterdir():
            if file.is_file():
                file.unlink()
        folder.journal.append(begun)


def bm25_norm(k1: float, b: float) -> Callable[[npt.NDArray[np.int32], float], Floats]:
    return lambda lengths, mean: length_norms(lengths, mean, k1, b)


def open_postings(folder: Path) -> Postings:
    def load(name: str) -> npt.NDArray[Any]:
        loaded: npt.NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
        return loaded.view(np.ndarray)  # still mapped; slices of a memmap cost ten times as much

    weighted = (folder / "norms.npy").exists()
    return Postings(
        load("keys"),
        load("frequencies"),
        load("places"),
        load("postings"),
        load("lengths"),
        load("norms") if weighted else None,
        "bm25" if weighted else "tfidf",
    )


def _write_lengths(
    folder: Path, count: int, norm: Callable[[npt.NDArray[np.int32], float], Floats] | None
) -> Path | None:
    """Every passage's length, and its norm where there are norms; where the norms are."""
    lengths = [Block.open(folder, number).lengths for number in range(count)]
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
