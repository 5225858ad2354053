"""Encoders exported to ONNX: `*.onnx` and `tokenizer.json` in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whichone.errors import BadInput, missing_extra
from whichone.files.lines import read_json
from whichone.retrieval.dense.encoder import (
    Vectors,
    batches_by_length,
    checked,
    joined,
    weights_hash,
)

BATCH = 32
LONGEST = 256


class OnnxEncoder:
    """Runs the model on the CPU and pools its last layer: mean over the words, or the first."""

    def __init__(self, folder: Path, *, name: str, longest: int = LONGEST) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise missing_extra(error.name or "onnxruntime", "dense") from None
        self.name = name
        self._hash = weights_hash(folder)
        self._longest = longest
        self._first_word = _pools_first(folder)
        self._asks, self._tells = prompts(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(longest)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # threads that wait by spinning cost 40 % more CPU time where others need the cores
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        file = sorted(folder.glob("*.onnx"))[0]
        self._session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {i.name for i in self._session.get_inputs()}
        size = self._session.get_outputs()[0].shape[-1]
        self.size = size if isinstance(size, int) else self._pooled(["size"]).shape[1]

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "onnx",
            "weights": self._hash,
            "size": self.size,
            "longest": self._longest,
            "pooling": "first" if self._first_word else "mean",
            **({"prompts": [self._asks, self._tells]} if self._asks or self._tells else {}),
        }

    def questions(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._asks + text for text in texts])

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self._encode([self._tells + text for text in joined(titles, texts)])

    def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.size), np.float32)
        for places in batches_by_length(texts, BATCH):
            vectors[places] = self._pooled([texts[n] for n in places])
        return checked(vectors, len(texts), self.size, self.name)

    def _pooled(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(texts)
        feeds = {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }
        last = self._session.run(None, {k: v for k, v in feeds.items() if k in self._inputs})[0]
        if last.ndim == 2:
            pooled = last
        elif self._first_word:
            pooled = last[:, 0]
        else:
            mask = feeds["attention_mask"][:, :, None].astype(np.float32)
            pooled = (last * mask).sum(1) / np.maximum(mask.sum(1), 1)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        unit: Vectors = pooled / np.maximum(norms, 1e-12)
        return unit


def _pools_first(folder: Path) -> bool:
    config = folder / "1_Pooling" / "config.json"
    if not config.exists():
        return False
    configuration = read_json(config)
    if not isinstance(configuration, dict):
        raise BadInput("not a pooling configuration", file=config)
    return (
        bool(configuration.get("pooling_mode_cls_token"))
        or configuration.get("pooling_mode") == "cls"
    )


def prompts(folder: Path) -> tuple[str, str]:
    """What a model wants before a question and before a passage, as sentence-transformers saves it."""
    config = folder / "config_sentence_transformers.json"
    settings = read_json(config) if config.exists() else {}
    named = settings.get("prompts") if isinstance(settings, dict) else None
    if not isinstance(named, dict):
        return "", ""
    tells = next((named[k] for k in ("document", "passage", "corpus") if named.get(k)), "")
    return str(named.get("query") or ""), str(tells)
