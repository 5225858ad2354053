"""Scores pairs of question and passage with a cross-encoder."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.errors import BadInput, Missing, missing_extra
from whichone.records import Passage
from whichone.retrieval.dense.encoder import weights_hash

BATCH = 32
_WITHOUT_HEAD = ("Model", "Encoder", "ForMaskedLM", "ForPreTraining")


class CrossEncoderOrder:
    """A folder or name that sentence-transformers can open as a CrossEncoder."""

    def __init__(self, model: str, *, device: str | None = None) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from sentence_transformers import CrossEncoder
        except ImportError:
            raise missing_extra("sentence-transformers", "dense") from None
        self._name = Path(model).resolve().name if Path(model).is_dir() else model
        self._hash = weights_hash(Path(model)) if Path(model).is_dir() else ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._model = CrossEncoder(model, device=device, local_files_only=True)
        except (OSError, ValueError) as error:
            raise Missing(
                f"the cross-encoder {model!r} is no folder here and was not fetched to this machine",
                hint=f"name a folder that contains it, or fetch it first: hf download {model}",
            ) from error
        self._check_head(model)

    def _check_head(self, model: str) -> None:
        """A checkpoint without a head gets a new one at random, and would order at random."""
        heads = list(getattr(self._model.config, "architectures", None) or ())
        if heads and all(head.endswith(_WITHOUT_HEAD) for head in heads):
            raise BadInput(
                f"a checkpoint of the wrong kind: it is a {', '.join(heads)}, which scores no pairs",
                file=model,
                hint="train one with whichone train reranker, or search with it: --retriever dense",
            )

    def describe(self) -> dict[str, Any]:
        return {"by": "cross-encoder", "model": self._name, "weights": self._hash}

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places of the passages best first, with their scores; ties keep the order they came in."""
        pairs = [(question, f"{p.title} {p.text}".strip()) for p in passages]
        scores = [
            float(s) for s in self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False)
        ]
        if any(not math.isfinite(score) for score in scores):
            raise BadInput(f"{self._name} gave a score that is not a number")
        places = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        return places, [scores[n] for n in places], {}
