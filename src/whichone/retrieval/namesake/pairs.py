"""Reads a question together with each bearer's passage: a cross-encoder, or late interaction; ONNX, no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from whichone.errors import BadInput
from whichone.retrieval.namesake.sentences import split_sentences


class Judged(Protocol):
    """A bearer whose best page is read."""

    @property
    def page(self) -> int: ...


class SentenceJudge:
    """Scores the bearers of a name; the higher, the better a bearer's passage answers."""

    def __init__(
        self,
        folder: str,
        passage: Callable[[int, str], tuple[str, str]],
        loaded: SentenceJudge | None = None,
        *,
        words: int = 120,
    ) -> None:
        self._passage = passage
        self._words = words
        self._models: tuple[Any, Any] = _open(folder) if loaded is None else loaded._models
        self._cross, self._tokens = self._models
        self.kind = "cross" if self._cross is not None else "late"

    def describe(self) -> dict[str, Any]:
        model = self._cross if self._cross is not None else self._tokens
        described: dict[str, Any] = model.describe()
        return described

    def scores(self, question: str, bearers: Sequence[Judged]) -> list[tuple[float, str]]:
        """For each bearer its score and the opening sentence of what was read."""
        read = [self._passage(bearer.page, question) for bearer in bearers]
        texts = [f"{title}. {' '.join(text.split()[: self._words])}" for title, text in read]
        shown = [(split_sentences(text) or [""])[0] for _, text in read]
        if self._cross is not None:
            scores = self._cross.scores([(question, text) for text in texts]) / 10
        else:
            asked = self._tokens.questions([question])[0]
            passages = self._tokens.passages([""] * len(texts), texts)
            scores = np.array([float((asked @ p.T).max(1).mean()) for p in passages])
        return list(zip(scores.tolist(), shown, strict=True))


def _open(folder: str) -> tuple[Any, Any]:
    """The cross-encoder of a folder, or its token encoder."""
    from whichone.retrieval.late.encoder import OnnxTokens
    from whichone.retrieval.rerank.onnx import OnnxCrossEncoder

    try:
        return OnnxCrossEncoder(folder, longest=192), None
    except BadInput as error:
        if "no cross-encoder" not in error.message:
            raise
    return None, OnnxTokens(Path(folder))
