"""Scores pairs of question and passage with a cross-encoder exported to ONNX, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput
from whichone.files.folder import file_hash
from whichone.records import Passage
from whichone.retrieval.onnx_model import OnnxModel, batches_by_length, finite, padded

BATCH = 16
LONGEST = 512


class OnnxCrossEncoder:
    """A folder with `*.onnx` and `tokenizer.json`, or the `.onnx` file; one number a pair is its score."""

    def __init__(self, model: str | Path, *, longest: int = LONGEST) -> None:
        self._model = OnnxModel(model, longest=longest)
        self._name = self._model.folder.resolve().name
        self._hash = file_hash(self._model.file)[:16]
        self._longest = self._model.longest
        shape = next(iter(self._model.outputs.values()))
        if len(shape) != 2 or shape[1] not in (1, 2):
            raise BadInput(
                f"no cross-encoder: its output has the shape {shape}, not one score a pair",
                file=self._model.file,
                hint="search with it: --retriever dense or --retriever late",
            )

    def describe(self) -> dict[str, Any]:
        return {
            "by": "cross-encoder",
            "model": self._name,
            "weights": self._hash,
            "kind": "onnx",
            "longest": self._longest,
        }

    def scores(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """One score for each pair; of two classes, the second's lead over the first."""
        encoded = self._model.tokenizer.encode_batch(list(pairs)) if pairs else []
        scores = np.zeros(len(pairs), np.float32)
        for places in batches_by_length([len(e.ids) for e in encoded], BATCH):
            ids, mask = padded([encoded[n].ids for n in places])
            kinds, _ = padded([encoded[n].type_ids for n in places])
            logits = self._model.run(ids, mask, kinds)[0]
            scores[places] = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        return finite(scores, self._name)

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places of the passages best first, with their scores; ties keep the order they came in."""
        scores = self.scores([(question, f"{p.title} {p.text}".strip()) for p in passages])
        places = np.argsort(-scores, kind="stable").tolist()
        return places, [float(scores[n]) for n in places], {}
