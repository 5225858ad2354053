"""Fusion and re-ranking of finished runs: settings of a run, for they need its benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Question
from whichone.retrieval.fusion import Fusion, FusionParameters, Scored, Source
from whichone.retrieval.rerank import Rerank, RerankParameters
from whichone.runs.run import Run


class RunFusion(Fusion):
    """`fusion`: of finished runs (`runs=RUN_A,RUN_B`), or live (`first=INDEX_A,INDEX_B`)."""

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path, *, runs: str = "", **options: Any) -> Fusion:
        if not runs:
            return Fusion.over(benchmark.corpus, work, **options)
        parameters = msgspec.convert(options, FusionParameters, strict=False)
        opened = [_over(place, benchmark) for place in runs.split(",") if place]
        if len(opened) < 2:
            raise UsageError("fusion takes at least two runs", hint="-o runs=RUN_A,RUN_B")
        levels = {str(run.description.get("returns")) for run in opened} - {"None"}
        if len(levels) > 1:
            raise BadInput(
                "some of the runs rank pages, others passages",
                ids=[run.path for run in opened],
                hint="fuse runs of one kind",
            )
        given = {
            k: v for k, v in msgspec.to_builtins(parameters).items() if k not in ("first", "depth")
        }
        described = {"runs": runs, **given, "fused": [_described(run) for run in opened]}
        return Fusion([recalled(run) for run in opened], parameters, described, seen_by(opened))


class RunRerank(Rerank):
    """`rerank`: of a finished run (`run=RUN`), or live (`first=INDEX`)."""

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path, *, run: str = "", **options: Any) -> Rerank:
        if not run:
            return Rerank.over(benchmark.corpus, work, **options)
        parameters = msgspec.convert(options, RerankParameters, strict=False)
        opened = _over(run, benchmark)
        described = {
            "run": str(opened.path),
            "from": {"run": opened.name, "hash": opened.folder.content_hash[:12]},
        }
        source = recalled(opened)
        return Rerank.of(source, benchmark.corpus, parameters, described, seen_by([opened]))


def _over(place: str, benchmark: Benchmark) -> Run:
    run = Run.open(place)
    if run.benchmark_id != benchmark.id:
        raise BadInput(
            f"the run is over {run.benchmark_id}, not over {benchmark.id}", file=run.path
        )
    return run


def seen_by(runs: Sequence[Run]) -> tuple[str, ...]:
    """What the systems of several runs were given, together."""
    return tuple(sorted({s for run in runs for s in run.description.get("sees", ("corpus",))}))


def recalled(run: Run) -> Source:
    """What a finished run ranked for each question."""
    ranked: dict[str, Scored] = {}
    table = run.rankings
    for question, passage, score in zip(
        table["question"].to_pylist(),
        table["passage"].to_pylist(),
        table["score"].to_pylist(),
        strict=True,
    ):
        ranked.setdefault(question, []).append((passage, float(score or 0.0)))

    def ask(questions: Sequence[Question], k: int) -> list[Scored]:
        return [ranked.get(question.id, []) for question in questions]

    return ask


def _described(run: Run) -> dict[str, Any]:
    return {
        "run": run.name,
        "hash": run.folder.content_hash[:12],
        "made_by": str(run.description.get("retriever", "")),
    }
