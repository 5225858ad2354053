"""The inverted index on disk: built block by block, merged once, opened memory-mapped.

For each term the postings lie together in passage order: `documents` (passage ordinals) and
`weights` (what one occurrence of the term in a query adds to that passage's score).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

BLOCK = 50_000

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Postings:
    """All postings; those of term t lie in the slice starts[t] : starts[t + 1]."""

    starts: npt.NDArray[np.int64]
    documents: Ints
    weights: Floats
    lengths: Ints

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class _Block:
    """One block's (term, passage, frequency) triples, sorted by term, then passage."""

    terms: Path
    documents: Path
    frequencies: Path

    @classmethod
    def write(cls, folder: Path, number: int, texts: list[list[int]], first: int) -> _Block:
        counts = np.fromiter(map(len, texts), np.int64, len(texts))
        terms = np.fromiter((t for text in texts for t in text), np.int64, int(counts.sum()))
        owners = np.repeat(np.arange(len(texts)), counts)
        keys, frequencies = np.unique(terms * len(texts) + owners, return_counts=True)
        block = cls(*(folder / f"block-{number:05}.{part}.npy" for part in ("t", "d", "f")))
        np.save(block.terms, (keys // len(texts)).astype(np.int32))
        np.save(block.documents, (keys % len(texts) + first).astype(np.int32))
        np.save(block.frequencies, frequencies.astype(np.int32))
        return block

    def read(self) -> tuple[Ints, Ints, Ints]:
        return np.load(self.terms), np.load(self.documents), np.load(self.frequencies)

    def remove(self) -> None:
        for path in (self.terms, self.documents, self.frequencies):
            path.unlink()


class Terms(Protocol):
    """Gives texts their term numbers, new terms new numbers."""

    def add(self, text: str) -> list[int]: ...

    def __len__(self) -> int: ...


Weights = Callable[[Ints, Ints, Ints], npt.NDArray[np.float64]]
"""From term, passage and frequency of postings to what they add to a score."""

Weigh = Callable[[npt.NDArray[np.int64], Ints], Weights]
"""From every term's number of passages and every passage's length to the weights."""


def bm25_weights(k1: float, b: float) -> Weigh:
    """Lucene's BM25."""

    def weigh(frequency: npt.NDArray[np.int64], lengths: Ints) -> Weights:
        idf, norm = lucene_idf(frequency, len(lengths)), length_norm(lengths, k1, b)
        return lambda term, document, count: idf[term] * (count / (count + norm[document]))

    return weigh


def build(texts: Iterable[str], vocabulary: Terms, folder: Path, weigh: Weigh) -> Postings:
    """Read texts as a stream and leave the finished arrays in the folder."""
    blocks: list[_Block] = []
    lengths: list[Ints] = []
    first = 0
    for chunk in _chunks(texts, BLOCK):
        numbers = [vocabulary.add(text) for text in chunk]
        lengths.append(np.fromiter(map(len, numbers), np.int32, len(numbers)))
        blocks.append(_Block.write(folder, len(blocks), numbers, first))
        first += len(chunk)
    all_lengths = np.concatenate(lengths) if lengths else np.zeros(0, np.int32)
    _merge(blocks, all_lengths, len(vocabulary), folder, weigh)
    for block in blocks:
        block.remove()
    return open_postings(folder)


def _merge(blocks: list[_Block], lengths: Ints, terms: int, folder: Path, weigh: Weigh) -> None:
    """Put every block's postings in their places, the weights computed on the way."""
    frequency = np.zeros(terms, np.int64)
    for block in blocks:
        frequency += np.bincount(np.load(block.terms), minlength=terms)
    starts = np.zeros(terms + 1, np.int64)
    np.cumsum(frequency, out=starts[1:])
    documents = _array(folder / "documents.npy", np.int32, int(starts[-1]))
    weights = _array(folder / "weights.npy", np.float32, int(starts[-1]))
    weight = weigh(frequency, lengths)
    place = starts[:-1].copy()
    for block in blocks:
        term, document, count = block.read()
        inside = np.bincount(term, minlength=terms)
        first_of_term = np.cumsum(inside) - inside
        at = place[term] + np.arange(len(term)) - first_of_term[term]
        documents[at] = document
        weights[at] = weight(term, document, count).astype(np.float32)
        place += inside
    for array in (documents, weights):
        if isinstance(array, np.memmap):
            array.flush()
    np.save(folder / "starts.npy", starts)
    np.save(folder / "lengths.npy", lengths)


def lucene_idf(frequency: npt.NDArray[np.int64], passages: int) -> npt.NDArray[np.float64]:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), never negative."""
    return np.log1p((passages - frequency + 0.5) / (frequency + 0.5))


def length_norm(lengths: Ints, k1: float, b: float) -> npt.NDArray[np.float64]:
    """k1 (1 - b + b length / mean length); Lucene's formula has no (k1 + 1) factor."""
    mean = float(lengths.mean()) if len(lengths) else 1.0
    return k1 * (1 - b + b * lengths.astype(np.float64) / (mean or 1.0))


def open_postings(folder: Path) -> Postings:
    def load(name: str) -> npt.NDArray[np.generic]:
        path = folder / f"{name}.npy"
        loaded: npt.NDArray[np.generic] = np.load(path, mmap_mode="r")
        return loaded.view(np.ndarray)  # still mapped; slices of a memmap cost ten times as much

    return Postings(load("starts"), load("documents"), load("weights"), load("lengths"))  # type: ignore[arg-type]


def _array(path: Path, dtype: type[np.generic], size: int) -> npt.NDArray[np.generic]:
    if size == 0:  # an empty file cannot be mapped
        np.save(path, np.zeros(0, dtype))
        return np.zeros(0, dtype)
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))


def _chunks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(texts)
    while chunk := list(islice(iterator, size)):
        yield chunk
