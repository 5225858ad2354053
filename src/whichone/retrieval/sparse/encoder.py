"""SPLADE: what a masked language model would write at any place of a text, as weights of words.

The weight of a word is the largest log(1 + max(0, logit)) over the text's tokens (Formal et al., 2021).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, Missing, missing_extra
from whichone.files.folder import file_hash
from whichone.retrieval.dense.encoder import joined, package_folder, weights_hash
from whichone.retrieval.onnx_model import OnnxModel, batches_by_length, finite, is_onnx, padded

if TYPE_CHECKING:
    import torch

BATCH = 16
LONGEST = 256

Weighted = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""The numbers of a text's words and their weights, all above 0."""


class SparseEncoder(Protocol):
    words: int
    """How many words there are; their numbers are below it."""

    def encode(self, texts: Sequence[str]) -> list[Weighted]: ...

    def tokens(self, text: str) -> list[int]:
        """The numbers of a text's own words, without special tokens."""
        ...

    def describe(self) -> dict[str, Any]: ...


def open_sparse_encoder(
    model: str, *, device: str | None = None, longest: int = LONGEST
) -> SparseEncoder:
    """The encoder of a folder, an `.onnx` file, or a model that was fetched to this machine."""
    if is_onnx(model):
        return OnnxSplade(Path(model), longest=longest)
    return Splade.load(model, device=device, longest=longest)


class OnnxSplade:
    """An ONNX model whose output is logits a token, or weights a text."""

    def __init__(self, place: Path, *, longest: int = LONGEST) -> None:
        self._model = OnnxModel(place, longest=longest)
        self.name = self._model.folder.resolve().name
        self._hash = file_hash(self._model.file)[:16]
        self._longest = longest
        self.words = int(self._model.tokenizer.get_vocab_size())
        shape = next(iter(self._model.outputs.values()))
        if isinstance(shape[-1], int) and shape[-1] < self.words:
            raise BadInput(
                f"the model gives {shape[-1]} numbers, not one for each of {self.words} words",
                file=self._model.file,
                hint="search with it: --retriever dense or --retriever late",
            )

    def describe(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "kind": "onnx",
            "weights": self._hash,
            "longest": self._longest,
        }

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        rows = [e.ids for e in self._model.tokenizer.encode_batch(list(texts))] if texts else []
        return by_length(rows, self._weights)

    def _weights(self, rows: list[list[int]]) -> npt.NDArray[np.float32]:
        ids, mask = padded(rows)
        output = finite(self._model.run(ids, mask)[0], self.name)
        if output.ndim == 2:
            return np.maximum(output, 0)
        weights = np.log1p(np.maximum(output, 0)) * mask[:, :, None]
        largest: npt.NDArray[np.float32] = weights.max(1)
        return largest

    def tokens(self, text: str) -> list[int]:
        ids: list[int] = self._model.tokenizer.encode(text, add_special_tokens=False).ids
        return ids


class Splade:
    """A masked language model of transformers; sentence-transformers' SPLADE folders hold one too."""

    def __init__(self, model: Any, tokenizer: Any, *, name: str, longest: int = LONGEST) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.name = name
        self.words = int(model.config.vocab_size)
        self.longest = min(longest, int(model.config.max_position_embeddings))
        self.hash = ""

    @classmethod
    def load(cls, checkpoint: str, *, device: str | None = None, longest: int = LONGEST) -> Splade:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import torch
                from transformers import AutoModelForMaskedLM, AutoTokenizer
        except ImportError as error:
            raise missing_extra(error.name or "transformers", "dense") from None
        place = str(package_folder(checkpoint) or checkpoint)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
                model = AutoModelForMaskedLM.from_pretrained(place, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise Missing(
                f"cannot load the SPLADE model {checkpoint}: {str(error).splitlines()[0]}",
                hint="name a folder of a masked language model, or of one exported to ONNX",
            ) from error
        _check_head(model, place)
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        name = Path(checkpoint).resolve().name if Path(checkpoint).is_dir() else checkpoint
        loaded = cls(model.float().to(chosen).eval(), tokenizer, name=name, longest=longest)
        loaded.hash = weights_hash(Path(place)) if Path(place).is_dir() else ""
        return loaded

    def describe(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "kind": "masked language model",
            "weights": self.hash,
            "longest": self.longest,
        }

    def weights(self, texts: Sequence[str]) -> torch.Tensor:
        """Weights of all words for each text, with gradients where torch keeps them."""
        import torch

        features = self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self.longest,
            return_tensors="pt",
        ).to(self.model.device)
        logits = self.model(**features).logits.float()
        mask = features["attention_mask"].unsqueeze(2)
        largest: torch.Tensor = (torch.log1p(torch.relu(logits)) * mask).amax(1)
        return largest

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        import torch

        encoded: list[Weighted] = [_none()] * len(texts)
        for places in batches_by_length([len(text) for text in texts], BATCH):
            with torch.no_grad():
                weights = self.weights([texts[n] for n in places]).cpu().numpy()
            for n, row in zip(places, finite(weights, self.name), strict=True):
                encoded[n] = nonzero(row)
        return encoded

    def tokens(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def _check_head(model: Any, place: str) -> None:
    """Without a language-model head words would be weighted at random."""
    heads = list(getattr(model.config, "architectures", None) or ())
    if heads and not any("MaskedLM" in head or "PreTraining" in head for head in heads):
        raise BadInput(
            f"a checkpoint of the wrong kind: it is a {', '.join(heads)}, which writes no words",
            file=place,
            hint="a masked language model or a SPLADE checkpoint is needed; search with this one by"
            " --retriever dense",
        )


def by_length(
    rows: Sequence[Sequence[int]],
    weights: Callable[[list[list[int]]], npt.NDArray[np.float32]],
) -> list[Weighted]:
    """Texts encoded in batches of similar length, in their own order."""
    encoded: list[Weighted] = [_none()] * len(rows)
    for places in batches_by_length([len(row) for row in rows], BATCH):
        encodeds = weights([list(rows[n]) for n in places])
        for n, row in zip(places, encodeds, strict=True):
            encoded[n] = nonzero(row)
    return encoded


def nonzero(row: npt.NDArray[np.float32]) -> Weighted:
    words = np.flatnonzero(row > 0)
    return words, row[words]


def strongest(text: Weighted, most: int | None) -> Weighted:
    """At most so many words of a text, by weight; their numbers in order."""
    words, weights = text
    if most is None or len(words) <= most:
        return text
    kept = np.sort(np.lexsort((words, -weights))[:most])
    return words[kept], weights[kept]


def passage_texts(titles: Sequence[str], texts: Sequence[str]) -> list[str]:
    return joined(titles, texts)


def _none() -> Weighted:
    return np.zeros(0, np.int64), np.zeros(0, np.float32)
