"""Blocks merged out of core: ranges of keys, each of about as many postings, each by itself."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.retrieval.bm25 import blocks
from whichone.retrieval.bm25.blocks import Block
from whichone.retrieval.bm25.lists import encode
from whichone.retrieval.bm25.weights import impacts

POSTINGS = 4_000_000
"""About so many postings are in memory at once."""

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
        block = Block.open(folder, number)
        bins = (block.keys >> np.uint64(shift)).astype(np.int64)
        postings += np.bincount(bins, np.diff(block.starts), 1 << _BINS).astype(np.int64)
    group = np.maximum(np.cumsum(postings) - 1, 0) // POSTINGS
    edges = np.flatnonzero(np.diff(group, prepend=-1)).tolist()
    lows = [0, *(edge << shift for edge in edges[1:])]
    highs: list[int | None] = [*lows[1:], None]
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        yield Range(number, low, high)


class Merger:
    """Merges one range of keys from all blocks into encoded lists, written as files of their own."""

    def __init__(self, folder: Path, count: int, norms: Path | None) -> None:
        self._folder = folder
        self._count = count
        self._norms_file = norms

    @functools.cached_property
    def _blocks(self) -> list[Block]:
        return [Block.open(self._folder, number) for number in range(self._count)]

    @functools.cached_property
    def _norms(self) -> Floats | None:
        if self._norms_file is None:
            return None
        norms: Floats = np.load(self._norms_file, mmap_mode="r").view(np.ndarray)
        return norms

    def __call__(self, wanted: Range) -> None:
        bounds = [_bounds(block, wanted) for block in self._blocks]
        pieces = [b.keys[s:e] for b, (s, e) in zip(self._blocks, bounds, strict=True)]
        keys = np.unique(np.concatenate([np.zeros(0, np.uint64), *pieces]))
        terms = [np.searchsorted(keys, piece) for piece in pieces]
        frequency = np.zeros(len(keys), np.int64)
        many = []
        for block, (start, end), term in zip(self._blocks, bounds, terms, strict=True):
            many.append(np.diff(block.starts[start : end + 1]))
            frequency[term] += many[-1]
        free = np.cumsum(frequency) - frequency
        total = int(frequency.sum())
        passages, counts = np.empty(total, np.int64), np.empty(total, np.int64)
        for block, (start, end), term, each in zip(self._blocks, bounds, terms, many, strict=True):
            first, last = int(block.starts[start]), int(block.starts[end])
            inside = np.repeat(free[term] - (block.starts[start:end] - first), each)
            at = inside + np.arange(last - first)
            passages[at] = block.passages[first:last].astype(np.int64) + block.first
            counts[at] = block.counts[first:last]
            free[term] += each
        words, places = np.zeros(0, np.uint32), np.zeros(0, np.int64)
        if total:
            impact = impacts(counts.astype(np.float32), passages, self._norms)
            words, places = encode(passages, counts, frequency, impact)
        written: dict[str, npt.NDArray[Any]] = {
            "keys": keys,
            "frequencies": frequency,
            "places": places,
            "postings": words,
        }
        for name, array in written.items():
            array.astype(PARTS[name]).tofile(part(self._folder, wanted.number, name))


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


def remove_blocks(folder: Path, count: int) -> None:
    for number in range(count):
        blocks.remove(folder, number)


def _bounds(block: Block, wanted: Range) -> tuple[int, int]:
    start = int(np.searchsorted(block.keys, np.uint64(wanted.low)))
    if wanted.high is None:
        return start, len(block.keys)
    return start, int(np.searchsorted(block.keys, np.uint64(wanted.high)))
