"""Fusion: one ranking made of several, by reciprocal ranks or by weighted scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.protocols import Retriever
from whichone.records import Question, Ranking
from whichone.retrieval.open import open_indexes

Scored = list[tuple[str, float]]
Source = Callable[[Sequence[Question], int], list[Scored]]
"""Questions and a depth to what was ranked for each, best first, with its scores."""


class FusionParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`first` are folders of indexes between commas; `weights`, one each, are 1 when not given.

    `rrf` sums weight / (constant + rank). `weighted` brings each list's scores of a question to 0 to 1
    first, then sums weight times score. What a list does not have adds nothing. `depth` is how deep
    live retrievers are asked.
    """

    first: str = ""
    method: Literal["rrf", "weighted"] = "rrf"
    weights: str = ""
    constant: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    depth: Annotated[int, msgspec.Meta(ge=1)] = 100


class Fusion:
    """Fuses what several sources rank."""

    name = "fusion"
    Parameters = FusionParameters

    def __init__(
        self,
        sources: Sequence[Source],
        parameters: FusionParameters,
        described: dict[str, Any],
        sees: tuple[str, ...] = ("corpus",),
    ) -> None:
        self._sources = sources
        self._weights = fusion_weights(parameters, len(sources))
        self._parameters = parameters
        self._described = described
        self.sees = sees

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Fusion:
        """Live retrievers over one corpus, each opened from its index."""
        parameters = msgspec.convert(options, FusionParameters, strict=False)
        retrievers = open_indexes(parameters.first, corpus)
        if len(retrievers) < 2:
            raise UsageError("fusion takes at least two indexes", hint="-o first=INDEX_A,INDEX_B")
        described = {
            **msgspec.to_builtins(parameters),
            "fused": [retriever.describe() for _, retriever in retrievers],
        }
        sees = {s for _, r in retrievers for s in getattr(r, "sees", ("corpus",))}
        sources = [live(retriever, parameters.depth) for _, retriever in retrievers]
        return cls(sources, parameters, described, tuple(sorted(sees)))

    def describe(self) -> dict[str, Any]:
        return {"retriever": "fusion", **self._described}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        answered = [source(questions, k) for source in self._sources]
        for number, question in enumerate(questions):
            lists = [listed[number] for listed in answered]
            if self._parameters.method == "rrf":
                fused = reciprocal_rank(lists, self._weights, self._parameters.constant)
            else:
                fused = weighted_scores(lists, self._weights)
            best = fused[:k]
            yield Ranking(
                question=question.id,
                passages=tuple(identity for identity, _ in best),
                scores=tuple(score for _, score in best),
            )


def live(retriever: Retriever, depth: int) -> Source:
    """What a retriever ranks, asked at least `depth` deep."""

    def ask(questions: Sequence[Question], k: int) -> list[Scored]:
        rankings = retriever.search(questions, max(k, depth))
        return [_scored(ranking) for ranking in rankings]

    return ask


def _scored(ranking: Ranking) -> Scored:
    scores = ranking.scores or tuple(-float(n) for n in range(len(ranking.passages)))
    return list(zip(ranking.passages, scores, strict=True))


def reciprocal_rank(lists: Sequence[Scored], weights: Sequence[float], constant: float) -> Scored:
    """Sums of weight / (constant + rank), best first, ties by id."""
    sums: dict[str, float] = {}
    for ranked_list, weight in zip(lists, weights, strict=True):
        for rank, (identity, _) in enumerate(ranked_list, 1):
            sums[identity] = sums.get(identity, 0.0) + weight / (constant + rank)
    return _in_order(sums)


def weighted_scores(lists: Sequence[Scored], weights: Sequence[float]) -> Scored:
    """Sums of weight times score, each list's scores brought to 0 to 1 (all equal: 1)."""
    sums: dict[str, float] = {}
    for ranked_list, weight in zip(lists, weights, strict=True):
        if not ranked_list:
            continue
        values = [score for _, score in ranked_list]
        low, width = min(values), max(values) - min(values)
        for identity, score in ranked_list:
            part = (score - low) / width if width else 1.0
            sums[identity] = sums.get(identity, 0.0) + weight * part
    return _in_order(sums)


def _in_order(sums: Mapping[str, float]) -> Scored:
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))


def fusion_weights(parameters: FusionParameters, lists: int) -> list[float]:
    if not parameters.weights:
        return [1.0] * lists
    try:
        weights = [float(part) for part in parameters.weights.split(",")]
    except ValueError:
        raise UsageError(f"weights={parameters.weights!r} are not numbers between commas") from None
    if len(weights) != lists:
        raise UsageError(f"{len(weights)} weights for {lists} rankings")
    return weights
