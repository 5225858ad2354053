"""An inverted index of real weights: `starts`, `documents`, `weights`, `lengths`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.retrieval.sparse.encoder import Weighted

FILES = ("starts", "documents", "weights", "lengths")


class Block:
    """One stretch of passages as arrays on disk: word, passage, weight, sorted by word, then passage."""

    def __init__(self, folder: Path, number: int) -> None:
        self._parts = [folder / f"block-{number:05}.{part}.npy" for part in ("t", "d", "w")]

    @property
    def done(self) -> bool:
        return self._parts[-1].exists()

    def write(self, passages: list[Weighted], first: int) -> None:
        words = np.concatenate([w for w, _ in passages] or [np.zeros(0, np.int64)])
        counts = [len(w) for w, _ in passages]
        owners = np.repeat(np.arange(first, first + len(passages)), counts)
        weights = np.concatenate([v for _, v in passages] or [np.zeros(0, np.float32)])
        order = np.lexsort((owners, words))
        arrays = (words.astype(np.int32), owners.astype(np.int32), weights.astype(np.float32))
        for part, array in zip(self._parts, arrays, strict=True):
            beside = part.with_name(f".{part.name}")
            np.save(beside, array[order])
            beside.replace(part)

    def read(
        self,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        return np.load(self._parts[0]), np.load(self._parts[1]), np.load(self._parts[2])

    def words(self) -> npt.NDArray[np.int32]:
        numbers: npt.NDArray[np.int32] = np.load(self._parts[0])
        return numbers

    def remove(self) -> None:
        for part in self._parts:
            part.unlink(missing_ok=True)


def merge(blocks: list[Block], words: int, passages: int, folder: Path) -> None:
    """All blocks' postings in their places, passages of a word in order."""
    counts = np.zeros(words, np.int64)
    lengths = np.zeros(passages, np.int32)
    for block in blocks:
        counts += np.bincount(block.words(), minlength=words)
    starts = np.zeros(words + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    documents = np.zeros(int(starts[-1]), np.int32)
    weights = np.zeros(int(starts[-1]), np.float32)
    place = starts[:-1].copy()
    for block in blocks:
        word, document, weight = block.read()
        inside = np.bincount(word, minlength=words)
        at = place[word] + np.arange(len(word)) - (np.cumsum(inside) - inside)[word]
        documents[at], weights[at] = document, weight
        place += inside
        lengths += np.bincount(document, minlength=passages).astype(np.int32)
    arrays: list[npt.NDArray[Any]] = [starts, documents, weights, lengths]
    for name, array in zip(FILES, arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
