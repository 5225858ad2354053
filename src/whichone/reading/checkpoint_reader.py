"""What the readers that run a HuggingFace checkpoint share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from whichone.corpus.corpus import Corpus
from whichone.reading.checkpoint import open_checkpoint, weights_fingerprint


class CheckpointReader:
    """A model with the head of its kind, read in batches through a window of tokens."""

    name: ClassVar[str]
    head: ClassVar[str]
    """One of transformers' Auto classes."""
    settings: ClassVar[tuple[str, ...]]
    """The attributes that a folder of answers names, besides the model."""

    def __init__(self, model: str | Path, device: str | None, *, window: int, batch: int) -> None:
        self.place, self.batch = model, int(batch)
        self._model, self._tokenizer, self._device = open_checkpoint(model, self.head, device)
        limit = getattr(self._model.config, "max_position_embeddings", None) or window
        self.window = min(int(window), int(limit))

    @classmethod
    def over(cls, corpus: Corpus, model: str, **options: Any) -> Self:
        return cls(model, **options)

    def describe(self) -> dict[str, Any]:
        return {
            "reader": self.name,
            "model": str(self.place),
            "weights": weights_fingerprint(self.place),
            **{name: getattr(self, name) for name in self.settings},
        }
