"""Fusion: one ranking made of several runs, by reciprocal ranks or by weighted scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Question, Ranking
from whichone.runs.run import Run

Scored = list[tuple[str, float]]


class FusionParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`runs` are folders between commas; `weights`, one a run, are 1 when not given.

    `rrf` sums weight / (constant + rank). `weighted` brings each run's scores of a question to 0 to 1
    first, then sums weight times score. What a run did not return adds nothing.
    """

    runs: str
    method: Literal["rrf", "weighted"] = "rrf"
    weights: str = ""
    constant: Annotated[float, msgspec.Meta(gt=0)] = 60.0


class Fusion:
    """Fuses runs that were made before; nothing is searched."""

    Parameters = FusionParameters

    def __init__(
        self, runs: Sequence[Run], parameters: FusionParameters, weights: Sequence[float]
    ) -> None:
        self._rankings = [ranked(run) for run in runs]
        self._weights = weights
        self._parameters = parameters
        self._told = [
            {"run": run.name, "hash": run.folder.content_hash[:12], "weight": weight, **_how(run)}
            for run, weight in zip(runs, weights, strict=True)
        ]

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path, **options: Any) -> Fusion:
        parameters = msgspec.convert(options, FusionParameters, strict=False)
        runs = [Run.open(place) for place in parameters.runs.split(",") if place]
        if len(runs) < 2:
            raise UsageError("fusion takes at least two runs", hint="-o runs=RUN_A,RUN_B")
        for run in runs:
            if run.benchmark_id != benchmark.id:
                raise BadInput(
                    f"the run is over {run.benchmark_id}, not over {benchmark.id}", file=run.path
                )
        levels = {str(run.description.get("returns")) for run in runs} - {"None"}
        if len(levels) > 1:
            raise BadInput(
                "some of the runs rank pages, others passages",
                ids=[run.path for run in runs],
                hint="fuse runs of one kind",
            )
        return cls(runs, parameters, _weights(parameters, len(runs)))

    def describe(self) -> dict[str, Any]:
        told = msgspec.to_builtins(self._parameters)
        return {"retriever": "fusion", **told, "fused": self._told}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            lists = [run.get(question.id, []) for run in self._rankings]
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


def reciprocal_rank(lists: Sequence[Scored], weights: Sequence[float], constant: float) -> Scored:
    """Sums of weight / (constant + rank), best first, ties by id."""
    sums: dict[str, float] = {}
    for found, weight in zip(lists, weights, strict=True):
        for rank, (identity, _) in enumerate(found, 1):
            sums[identity] = sums.get(identity, 0.0) + weight / (constant + rank)
    return _in_order(sums)


def weighted_scores(lists: Sequence[Scored], weights: Sequence[float]) -> Scored:
    """Sums of weight times score, each list's scores brought to 0 to 1 (all equal: 1)."""
    sums: dict[str, float] = {}
    for found, weight in zip(lists, weights, strict=True):
        if not found:
            continue
        values = [score for _, score in found]
        low, width = min(values), max(values) - min(values)
        for identity, score in found:
            part = (score - low) / width if width else 1.0
            sums[identity] = sums.get(identity, 0.0) + weight * part
    return _in_order(sums)


def _in_order(sums: Mapping[str, float]) -> Scored:
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))


def ranked(run: Run) -> dict[str, Scored]:
    """For each question what a run returned, best first, with its scores."""
    found: dict[str, Scored] = {}
    table = run.rankings
    for question, passage, score in zip(
        table["question"].to_pylist(),
        table["passage"].to_pylist(),
        table["score"].to_pylist(),
        strict=True,
    ):
        found.setdefault(question, []).append((passage, float(score or 0.0)))
    return found


def _weights(parameters: FusionParameters, runs: int) -> list[float]:
    if not parameters.weights:
        return [1.0] * runs
    try:
        weights = [float(part) for part in parameters.weights.split(",")]
    except ValueError:
        raise UsageError(f"weights={parameters.weights!r} are not numbers between commas") from None
    if len(weights) != runs:
        raise UsageError(f"{len(weights)} weights for {runs} runs")
    return weights


def _how(run: Run) -> dict[str, Any]:
    return {"made_by": str(run.description.get("retriever", ""))}
