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
    sure: Mapping[str, float] = {}
    """Weights of what tells whether the best bearer is the right one, by the same features."""

    def score(self, values: Mapping[str, float]) -> float:
        return sum(self.weights.get(name, 0.0) * value for name, value in values.items())


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
    results: list[float] = (values / values.sum()).tolist()
    return results


def calibrated(
    scores: Sequence[float], values: Sequence[Mapping[str, float]], fit: Fit
) -> list[float]:
    """Probabilities whose highest is how often such a first bearer was right; the order stays."""
    shares = softmax(scores)
    if len(scores) < 2 or not fit.sure:
        return shares
    best = max(range(len(shares)), key=lambda n: shares[n])
    second = max(share for n, share in enumerate(shares) if n != best)
    features = resolvable_features(values, scores)
    sure = logistic(sum(fit.sure.get(n, 0.0) * v for n, v in features.items()) + fit.sure[""])
    rest = max(1 - shares[best], 1e-12)
    # never so low that the second would be more likely than the first
    sure = max(sure, second / (rest + second))
    return [sure if n == best else share * (1 - sure) / rest for n, share in enumerate(shares)]


def logistic(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -50, 50))))


def resolvable_features(
    values: Sequence[Mapping[str, float]], scores: Sequence[float]
) -> dict[str, float]:
    """What tells whether anybody could know who is meant: how far the best bearer is ahead, and by what."""
    order = sorted(range(len(scores)), key=lambda n: -scores[n])
    first, second = (_without_denied(values[n]) for n in order[:2])
    shares = softmax(scores)
    ahead = {
        f"ahead {name}": first.get(name, 0.0) - second.get(name, 0.0)
        for name in ("words", "proper", "attribute", "says", "sentence", "pair")
    }
    kind = [v.get("kind", 0.0) - v.get("other_kind", 0.0) for v in (first, second)]
    return {
        **ahead,
        "ahead kind": kind[0] - kind[1],
        "probability": shares[order[0]],
        "lead": shares[order[0]] - shares[order[1]],
        "bearers": float(np.log(len(scores))),
    }


def _without_denied(values: Mapping[str, float]) -> Mapping[str, float]:
    """What a question denies tells bearers apart as what it names does."""
    denied = values.get("denied")
    return {**values, "proper": values.get("proper", 0.0) - denied} if denied else values
