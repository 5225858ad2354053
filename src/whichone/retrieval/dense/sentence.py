"""Encoders of sentence-transformers, by folder or name, run by torch."""

from __future__ import annotations

import copy
import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.errors import Missing, missing_extra
from whichone.retrieval.dense.encoder import Vectors, checked, joined, weights_hash
from whichone.retrieval.dense.packed import PackedModel, fast_rules, first_normalised
from whichone.retrieval.dense.tokens import Tokeniser

BATCH = 32


class SentenceEncoder:
    """Questions by the model's query prompt, passages by its document prompt, where it has any."""

    def __init__(self, model: str | Path, *, name: str, device: str | None = None) -> None:
        self.name = name
        self._hash = weights_hash(Path(model)) if Path(model).is_dir() else ""
        self._model = _load(model, device)
        self.size = int(self._model.get_embedding_dimension() or 0)
        self.packed = None
        if self._model.device.type == "cuda":
            import torch

            self.packed = packed_model(self._model, torch.bfloat16)

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "sentence-transformers",
            "weights": self._hash,
            "size": self.size,
            "longest": self._model.max_seq_length,
        }

    def describe_passages(self) -> dict[str, Any]:
        """On a GPU passages are encoded in half precision, which makes other vectors."""
        return {**self.describe(), **({"encoded_in": "bfloat16"} if self.packed else {})}

    def questions(self, texts: Sequence[str]) -> Vectors:
        return self._encode(self._model.encode_query, list(texts))

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        if self.packed is not None:
            vectors = self.packed.passages(titles, texts)
            return checked(vectors, len(texts), self.size, self.name)
        return self._encode(self._model.encode_document, joined(titles, texts))

    def _encode(self, encode: Any, texts: list[str]) -> Vectors:
        vectors = encode(
            texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return checked(vectors, len(texts), self.size, self.name)


def packed_model(model: Any, kind: Any) -> PackedModel | None:
    """For a transformer of which the mean of the tokens or the first one is taken; others go the library's way."""

    parts = [type(part).__name__ for part in model]
    plain = parts in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
    if not plain:
        return None
    mode = model[1].pooling_mode
    pooled = mode if isinstance(mode, str) else "+".join(mode)
    if pooled not in ("mean", "cls"):
        return None
    prompted = any((getattr(model, "prompts", None) or {}).values())
    rules = fast_rules(model.tokenizer)
    if prompted or not model.max_seq_length or rules is None:
        return None
    return PackedModel(
        copy.deepcopy(model[0].auto_model).to(kind).eval(),
        Tokeniser(rules, model.max_seq_length),
        pad=int(model.tokenizer.pad_token_id or 0),
        device=str(model.device),
        pool=first_normalised if pooled == "cls" else None,
    )


def _load(model: str | Path, device: str | None) -> Any:
    try:
        os.environ.setdefault("TQDM_DISABLE", "1")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_extra("sentence-transformers", "dense") from None
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return SentenceTransformer(str(model), device=device, local_files_only=True)
    except (OSError, ValueError) as error:
        raise Missing(
            f"the model {str(model)!r} is no folder, no installed package, and not among the models"
            " that were fetched to this machine",
            hint=f"name a folder that contains it, or fetch it first: hf download {model}",
        ) from error
