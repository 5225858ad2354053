"""What the readers that run a HuggingFace checkpoint share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.reading.checkpoint import open_checkpoint, weights_fingerprint
from whichone.reading.initialisation import initialisation_of, read_taught

TRAINED_TASKS = "whichone_tasks"
"""Of a checkpoint's config: the tasks that `train reader` taught it."""
QUESTIONS = ("qa", "sf", "EntityQuestions", "PAQ")
"""Tasks whose answer may be a stretch of a passage."""


def titled(title: str, text: str) -> str:
    """A passage as every reader sees it."""
    return f"{title} | {text}"


class CheckpointReader:
    """A model with the head of its kind, read in batches through a window of tokens.

    A row is called by its kind and by what the checkpoint was initialised from.
    """

    name: str
    head: ClassVar[str]
    """One of transformers' Auto classes."""
    settings: ClassVar[tuple[str, ...]]
    """The attributes that a folder of answers names, besides the model."""
    can_do: ClassVar[tuple[str, ...]] = ()
    """The tasks of readers of this kind; none: any."""

    def __init__(self, model: str | Path, device: str | None, *, window: int, batch: int) -> None:
        self.place, self.batch = model, int(batch)
        self._model, self._tokenizer, self._device = open_checkpoint(model, self.head, device)
        limit = getattr(self._model.config, "max_position_embeddings", None) or window
        self.window = min(int(window), int(limit))
        trained = tuple(getattr(self._model.config, TRAINED_TASKS, None) or ())
        self.tasks = trained or self.can_do
        self.taught = read_taught(model)
        self.initialisation = initialisation_of(model, self._model)
        self.name = f"{type(self).name} {self.initialisation.label()}"

    @classmethod
    def over(cls, corpus: Corpus, model: str, **options: Any) -> Self:
        return cls(model, **options)

    def describe(self) -> dict[str, Any]:
        return {
            "reader": type(self).name,
            "model": str(self.place),
            "weights": weights_fingerprint(self.place),
            "initialisation": msgspec.to_builtins(self.initialisation),
            **{name: getattr(self, name) for name in self.settings},
        }
