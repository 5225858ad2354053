"""One block of passages as sorted arrays on disk: what workers make and merging reads."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.files.output import written_beside
from whichone.retrieval.bm25.lists import MOST

_SHIFT = 16
LARGEST = 1 << _SHIFT
"""No block has more passages: their numbers inside it take two bytes."""

Numbers = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]


class Numbering(Protocol):
    """Gives texts their terms' numbers; it is sent to other processes."""

    @property
    def key_bits(self) -> int: ...

    def number(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.signedinteger[Any]], Numbers]:
        """All terms' numbers in a row, and how many each text has; negative numbers do not count."""
        ...

    def keys(self) -> Keys | None:
        """The key of each number; None where numbers are keys."""
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
class Block:
    """(key, passage, count) of some passages, sorted; `starts` has a place for every key, and the end."""

    keys: Keys
    starts: npt.NDArray[np.int64]
    passages: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.uint16]
    lengths: Numbers
    first: int

    @classmethod
    def open(cls, folder: Path, number: int) -> Block:
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
    """Makes the blocks of one process; words that it has analysed are remembered between them."""

    def __init__(self, numbering: Numbering, folder: Path) -> None:
        self._numbering = numbering
        self._folder = folder

    def __call__(self, job: Job) -> None:
        texts: list[str] = job.texts.to_pylist()
        numbers, counts = self._numbering.number(texts)
        block = _block(numbers, counts, self._numbering.keys(), job.first)
        block.write(self._folder, job.number)


def _block(
    numbers: npt.NDArray[np.signedinteger[Any]], counts: Numbers, keys: Keys | None, first: int
) -> Block:
    texts = len(counts)
    owners = np.repeat(np.arange(texts, dtype=np.int32), counts)
    good = numbers >= 0
    numbers, owners = numbers[good], owners[good]
    lengths = np.bincount(owners, minlength=texts).astype(np.int32)
    if keys is None:
        distinct, ranks = np.unique(numbers, return_inverse=True)
        distinct = distinct.astype(np.uint64)
    else:
        seen = np.zeros(len(keys), bool)
        seen[numbers] = True
        present = np.flatnonzero(seen)
        distinct, inverse = np.unique(keys[present], return_inverse=True)
        rank = np.empty(len(keys), np.int64)
        rank[present] = inverse
        ranks = rank[numbers]
    pairs = (ranks << _SHIFT) | owners
    pairs.sort()
    new = np.flatnonzero(np.diff(pairs, prepend=-1))
    times = np.diff(new, append=len(pairs))
    pairs = pairs[new]
    many = np.bincount(pairs >> _SHIFT, minlength=len(distinct))
    return Block(
        distinct,
        np.concatenate([[0], np.cumsum(many)]).astype(np.int64),
        (pairs & (LARGEST - 1)).astype(np.uint16),
        np.minimum(times, MOST).astype(np.uint16),
        lengths,
        first,
    )
