"""Orders passages by the closeness of vectors: one a passage, or one a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from whichone.records import Passage
from whichone.retrieval.dense.encoder import Encoder, Vectors
from whichone.retrieval.late.encoder import TokenEncoder
from whichone.retrieval.late.maxsim import maxsim

KEPT = 20_000
"""Passages whose vectors are kept; a passage is a candidate of many questions."""

V = TypeVar("V")


class _Kept(Generic[V]):
    """Encodes passages that were not met before, together."""

    def __init__(self, encode: Callable[[list[str], list[str]], Sequence[V]]) -> None:
        self._encode = encode
        self._held: dict[str, V] = {}

    def of(self, passages: Sequence[Passage]) -> list[V]:
        new = [p for p in dict.fromkeys(passages) if p.id not in self._held]
        if len(self._held) + len(new) > KEPT:
            self._held.clear()
            new = list(dict.fromkeys(passages))
        encoded = self._encode([p.title for p in new], [p.text for p in new]) if new else []
        self._held.update(zip((p.id for p in new), encoded, strict=True))
        return [self._held[p.id] for p in passages]


class VectorOrder:
    """By the inner product of one vector a text; `given` knows the vectors of passages already."""

    def __init__(
        self,
        encoder: Encoder,
        given: Callable[[Sequence[Passage]], Vectors] | None = None,
    ) -> None:
        self._encoder = encoder
        self._given = given
        self._kept: _Kept[Vectors] = _Kept(
            lambda titles, texts: list(encoder.passages(titles, texts))
        )

    def describe(self) -> dict[str, Any]:
        return {"by": "vectors", **self._encoder.describe()}

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places of the passages best first, with their scores; ties keep the order they came in."""
        asked = self._encoder.questions([question])[0]
        known = self._given(passages) if self._given else np.stack(self._kept.of(passages))
        return best_first(known @ asked)


class TokenOrder:
    """By MaxSim of one vector a token."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder
        self._kept: _Kept[Vectors] = _Kept(encoder.passages)

    def describe(self) -> dict[str, Any]:
        return {"by": "tokens", **self._encoder.describe()}

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places of the passages best first, with their scores; ties keep the order they came in."""
        asked = self._encoder.questions([question])[0]
        return best_first(maxsim(asked, self._kept.of(passages)))


def best_first(scores: npt.NDArray[Any]) -> tuple[list[int], list[float], dict[str, Any]]:
    places = np.argsort(-scores, kind="stable").tolist()
    return places, [float(scores[n]) for n in places], {}
