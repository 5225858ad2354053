"""What turns texts into one vector a token: an ONNX model, or a ColBERT or PyLate checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from whichone.errors import BadInput
from whichone.files.folder import file_hash
from whichone.retrieval.dense.encoder import Vectors, joined
from whichone.retrieval.late.tokens import Cutter, TokenRules, read_rules
from whichone.retrieval.onnx_model import OnnxModel, batches_by_length, finite, is_onnx, padded

BATCH = 32


class TokenEncoder(Protocol):
    """Each text as an array of unit vectors, one a token."""

    size: int

    def questions(self, texts: Sequence[str]) -> list[Vectors]: ...

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> list[Vectors]: ...

    def describe(self) -> dict[str, Any]: ...


def open_token_encoder(model: str, *, device: str | None = None) -> TokenEncoder:
    """The encoder of a folder or an `.onnx` file."""
    if is_onnx(model):
        return OnnxTokens(Path(model))
    from whichone.retrieval.late.colbert import ColbertTokens

    return ColbertTokens(model, device=device)


class OnnxTokens:
    """A model whose first output has a vector for each token.

    An output called `last_hidden_state` comes from an encoder without ColBERT's projection: its
    MaxSim is described as that of a backbone.
    """

    def __init__(self, place: Path, rules: TokenRules | None = None) -> None:
        folder = place if place.is_dir() else place.parent
        self.rules = rules or read_rules(folder)
        longest = max(self.rules.question_length, self.rules.passage_length)
        self._model = OnnxModel(place, longest=longest)
        self.name = self._model.folder.resolve().name
        self._hash = file_hash(self._model.file)[:16]
        self._cutter = Cutter(self._model.tokenizer, self.rules, file=self._model.file)
        self._output, shape = next(iter(self._model.outputs.items()))
        if len(shape) != 3:
            raise BadInput(
                f"the model's first output has the shape {shape}, not one vector a token",
                file=self._model.file,
            )
        size = shape[-1]
        self.size = size if isinstance(size, int) else self.questions(["size"])[0].shape[1]

    def describe(self) -> dict[str, Any]:
        backbone = self._output == "last_hidden_state"
        return {
            "model": self.name,
            "kind": "onnx, backbone MaxSim" if backbone else "onnx",
            "weights": self._hash,
            "size": self.size,
            "rules": msgspec.to_builtins(self.rules),
        }

    def questions(self, texts: Sequence[str]) -> list[Vectors]:
        rows, seen = self._cutter.questions(texts)
        return self._encode(rows, seen, [list(range(len(row))) for row in rows])

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> list[Vectors]:
        rows = self._cutter.passages(joined(titles, texts))
        return self._encode(rows, [len(r) for r in rows], [self._cutter.kept(r) for r in rows])

    def _encode(
        self, rows: list[list[int]], seen: list[int], kept: list[list[int]]
    ) -> list[Vectors]:
        encoded: list[Vectors] = [np.zeros((0, 0), np.float32)] * len(rows)
        for places in batches_by_length([len(row) for row in rows], BATCH):
            ids, _ = padded([rows[n] for n in places])
            mask = (np.arange(ids.shape[1]) < np.array([[seen[n]] for n in places])).astype(
                np.int64
            )
            last = self._model.run(ids, mask)[0]
            for vectors, n in zip(last, places, strict=True):
                encoded[n] = unit(finite(vectors[kept[n]], self.name))
        return encoded


def unit(vectors: Vectors) -> Vectors:
    """Vectors of length 1; those of length 0 stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
    return scaled
