"""Static embeddings (model2vec): a table of word vectors, fast without an accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whichone.errors import missing_extra
from whichone.retrieval.dense.encoder import Vectors, checked, joined, weights_hash


class StaticEncoder:
    """The mean of a text's word vectors, brought to length one."""

    def __init__(self, folder: Path, *, name: str) -> None:
        try:
            from model2vec import StaticModel
        except ImportError:
            raise missing_extra("model2vec", "dense") from None
        self.name = name
        self._hash = weights_hash(folder)
        self._model = StaticModel.from_pretrained(folder)
        self.size = int(self._model.dim)

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "model2vec",
            "weights": self._hash,
            "size": self.size,
        }

    def questions(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.size), np.float32)
        vectors = np.asarray(self._model.encode(list(texts)), np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return checked(vectors / np.maximum(norms, 1e-12), len(texts), self.size, self.name)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self.questions(joined(titles, texts))
