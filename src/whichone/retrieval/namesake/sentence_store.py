"""Sentence vectors that were made once are kept beside the indexes, so that the next run has them."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from whichone.files.lines import write_atomic
from whichone.progress import talk
from whichone.retrieval.dense.encoder import Vectors

ENOUGH = 1_024
"""So many sentences are written down together."""


class SentenceStore:
    """A folder of files, each whole by itself and named by its content: several runs may add at once."""

    def __init__(self, folder: Path, *, enough: int = ENOUGH) -> None:
        self._folder = folder
        self._enough = enough
        self._fresh: dict[int, Vectors] = {}

    def read(self, most: int) -> Iterator[tuple[int, Vectors]]:
        """Pages with the vectors of their sentences, up to so many pages."""
        for file in sorted(self._folder.glob("*.npz")):
            try:
                with np.load(file) as held:
                    pages, counts, vectors = held["pages"], held["counts"], held["vectors"]
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                talk(f"{file} cannot be read; its sentences are encoded again")
                file.unlink(missing_ok=True)
                continue
            at = 0
            for page, count in zip(pages.tolist(), counts.tolist(), strict=True):
                if most <= 0:
                    return
                most -= 1
                yield page, vectors[at : at + count]
                at += count

    def add(self, page: int, vectors: Vectors) -> None:
        self._fresh[page] = vectors
        if sum(map(len, self._fresh.values())) >= self._enough:
            self.flush()

    def flush(self) -> None:
        """Write down what was added since the last time."""
        if not self._fresh:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        np.savez(
            file,
            pages=np.array(list(self._fresh), np.int64),
            counts=np.array([len(v) for v in self._fresh.values()], np.int64),
            vectors=np.concatenate(list(self._fresh.values())).astype(np.float32),
        )
        name = hashlib.sha256(file.getvalue()).hexdigest()[:16]
        write_atomic(self._folder / f"{name}.npz", file.getvalue())
        self._fresh.clear()
