"""The learned weights of the evidence: a logistic model over the bearers of one name.

`evidence.json` is written by `bench/namesake_evidence.py`, which says on which questions it was fitted; the
probability of a bearer is the softmax of the weighted evidence over all bearers of the name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec
import numpy as np


class Fit(msgspec.Struct, frozen=True):
    """Weights of the evidence, fitted where this evidence was at hand."""

    weights: Mapping[str, float]
    resolvable: Mapping[str, float] = {}
    """Weights of what tells a question that can be resolved from one that cannot; "" is the constant."""


class EvidenceModel(msgspec.Struct, frozen=True):
    """One fit for evidence of words alone, others with a sentence encoder or a cross-encoder."""

    fits: Mapping[str, Fit]
    made: Mapping[str, Any] = {}

    @classmethod
    @functools.cache
    def load(cls) -> EvidenceModel:
        return msgspec.json.decode(
            files(__package__).joinpath("evidence.json").read_bytes(), type=cls
        )

    def fit(self, *, sentences: bool, judge: str | None = None) -> Fit:
        """The fit for what is at hand; `judge` is "cross" or "late"."""
        name = judge or ("sentences" if sentences else "words")
        return self.fits[name]


def softmax(scores: Sequence[float]) -> list[float]:
    """Probabilities that add up to one."""
    if not scores:
        return []
    values = np.exp(np.array(scores) - max(scores))
    found: list[float] = (values / values.sum()).tolist()
    return found


def logistic(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -50, 50))))
