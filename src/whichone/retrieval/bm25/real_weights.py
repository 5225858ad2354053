"""Lists of postings whose impacts are real numbers that a model has written: not compressed, mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RealPostings:
    """Those of term t are `frequencies[t]` documents and weights at `places[t]`."""

    places: Ints
    frequencies: Ints
    documents: npt.NDArray[np.int32]
    weights: Floats
    lengths: npt.NDArray[np.int32]

    @classmethod
    def open(cls, folder: Path) -> RealPostings:
        def load(name: str) -> npt.NDArray[Any]:
            loaded: npt.NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
            return loaded.view(np.ndarray)

        starts = np.asarray(load("starts"))
        return cls(
            starts[:-1], np.diff(starts), load("documents"), load("weights"), load("lengths")
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.documents, self.weights

    def idf(self, terms: Sequence[int]) -> npt.NDArray[np.float64]:
        """The weights have it in them."""
        return np.ones(len(terms))

    def impacts(self, term: int) -> tuple[Ints, Floats]:
        start = int(self.places[term])
        place = slice(start, start + int(self.frequencies[term]))
        return self.documents[place].astype(np.int64), self.weights[place]

    def impacts_near(self, term: int, passages: Ints) -> tuple[Ints, Floats]:
        return self.impacts(term)

    def peak(self, term: int) -> float | None:
        start = int(self.places[term])
        weights = self.weights[start : start + int(self.frequencies[term])]
        return float(weights.max(initial=0))
