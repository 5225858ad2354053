"""The learned weights of the evidence: a logistic model over the bearers of one name.

`evidence.json` is written by `bench/namesake_evidence.py`, which says on which questions it was fitted; the
probability of a bearer is the softmax of the weighted evidence over all bearers of the name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from whichone.errors import UsageError, did_you_mean


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


# Everything that changes what `namesake` answers.


Weight = Annotated[float, msgspec.Meta(ge=0)]


class NamesakeParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever; the weights of the evidence are learned (`evidence.json`).

    `encoder` is a folder, a model's name, an installed package, "auto" (the first known package that
    is installed) or "none". `encode` says what it reads: only the sentences of pages whose name is
    shared, or "all" passages of the corpus. `judge` is the folder of an ONNX cross-encoder, or of a model of
    token vectors for late interaction, that reads the bearers' passages. `knowledge` is a knowledge
    base for further names and facts, `names` a file of records with further names and attributes. `pool` is
    how many results of ordinary retrieval are weighed beside the bearers.
    """

    encoder: str = "auto"
    encode: Literal["bearers", "all"] = "bearers"
    judge: str | None = None
    judged: Annotated[int, msgspec.Meta(ge=2, le=64)] = 10
    """The judge reads so many bearers of a name at most, the likeliest."""
    judge_words: Annotated[int, msgspec.Meta(ge=8, le=400)] = 120
    """The judge reads so many words of each one's passage: what it costs."""
    knowledge: str | None = None
    names: str | None = None
    pool: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50
    device: str | None = None
    language: str = "auto"
    """Which words name kinds, relations and questions; "auto" takes what the corpus says it is in."""

    # among all pages: is this the page the question is about?
    named: Weight = 3.0
    """The page has a name that appears whole in the question."""
    alone: Weight = 1.0
    """... and nothing else in the question is written as a name."""
    share: Weight = 3.0
    """How much of the question that name is."""
    lexical: Weight = 6.0
    """BM25 of the whole question, relative to the best page; all bearers of a name share its part."""
    dense: Weight = 4.0
    """Closeness of question and passage, with encode=all."""

    subject: Weight = 2.0
    """In a claim with several names: the kind of evidence below, for which of them it is about."""

    # among the bearers of one name, beside the learned weights
    fact: Weight = 2.0
    """The knowledge base has a fact of the property that is asked for."""
    popularity: Weight = 0.0
    """The prior: logarithm of the bearer's popularity."""

    def changed_weights(self) -> dict[str, float]:
        """Weights of evidence that only some users have, and that is not learned."""
        return {"fact": self.fact, "popularity": self.popularity}

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> NamesakeParameters:
        """From options as a user writes them; a `UsageError` says which of them is wrong."""
        known = cls.__struct_fields__
        for name in options:
            if name not in known:
                raise UsageError(
                    f"`namesake` has no option {name!r}", hint=did_you_mean(name, known)
                )
        try:
            return msgspec.convert(options, cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"`namesake`: {error}") from None
