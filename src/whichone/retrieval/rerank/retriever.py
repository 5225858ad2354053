"""Re-ranking: the first passages of a run in another order, by a cross-encoder or a chat model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.concurrent import in_order
from whichone.errors import BadInput, UsageError
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.fusion import Scored, ranked
from whichone.runs.run import Run

_FOR_CHAT = ("window", "step", "characters", "concurrency")


class Order(Protocol):
    def describe(self) -> dict[str, Any]: ...

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places best first, their scores, and notes."""
        ...


class RerankParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`run` is the folder to start from, `depth` how many of each question's passages are re-ordered.

    `model` is a cross-encoder (folder or name; ONNX as a folder or an `.onnx` file), or with `endpoint` the name of a chat model there.
    `by=vectors` orders by a single-vector encoder, `by=tokens` by a late-interaction model instead.
    A chat model sees `window` passages of up to `characters` each at once, moves up by `step`, and is asked
    `concurrency` questions at a time.
    """

    run: str
    model: str
    by: Literal["pairs", "vectors", "tokens"] = "pairs"
    endpoint: str | None = None
    depth: Annotated[int, msgspec.Meta(ge=1)] = 100
    device: str | None = None
    window: Annotated[int, msgspec.Meta(ge=2)] = 20
    step: Annotated[int, msgspec.Meta(ge=1)] = 10
    characters: Annotated[int, msgspec.Meta(ge=1)] = 1_200
    concurrency: Annotated[int, msgspec.Meta(ge=1)] = 16


class Rerank:
    """Re-orders what a run found; what lies deeper keeps its order below."""

    Parameters = RerankParameters

    def __init__(
        self,
        run: Run,
        order: Order,
        passages: dict[str, Passage],
        *,
        depth: int = 100,
        concurrency: int = 1,
        told: dict[str, Any] | None = None,
    ) -> None:
        self._ranked: dict[str, Scored] = ranked(run)
        self._order = order
        self._passages = passages
        self._depth = depth
        self._concurrency = concurrency
        self._told: dict[str, Any] = {
            "retriever": "rerank",
            "run": str(run.path),
            "depth": depth,
            **(told or {}),
            "from": {"run": run.name, "hash": run.folder.content_hash[:12]},
        }

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path, **options: Any) -> Rerank:
        parameters = msgspec.convert(options, RerankParameters, strict=False)
        run = Run.open(parameters.run)
        if run.benchmark_id != benchmark.id:
            raise BadInput(
                f"the run is over {run.benchmark_id}, not over {benchmark.id}", file=run.path
            )
        if parameters.step > parameters.window:
            raise UsageError("windows must overlap or touch", hint="step is at most window")
        chat = parameters.endpoint is not None
        told = {
            name: value
            for name, value in msgspec.to_builtins(parameters).items()
            if value is not None and (chat or name not in _FOR_CHAT)
        }
        return cls(
            run,
            _order(parameters),
            _passages(benchmark),
            depth=parameters.depth,
            concurrency=parameters.concurrency if chat else 1,
            told=told,
        )

    def describe(self) -> dict[str, Any]:
        return {**self._told, "order": self._order.describe()}

    def close(self) -> None:
        """Lets go of the endpoint."""
        close = getattr(self._order, "close", None)
        if close is not None:
            close()

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        return in_order(lambda question: self._one(question, k), questions, self._concurrency)

    def _one(self, question: Question, k: int) -> Ranking:
        found = [identity for identity, _ in self._ranked.get(question.id, [])]
        first, rest = found[: self._depth], found[self._depth :]
        missing = [identity for identity in first if identity not in self._passages]
        if missing:
            raise BadInput("passages of the run are not in the corpus", ids=missing)
        places, scores, notes = (
            self._order.order(question.text, [self._passages[i] for i in first])
            if first
            else ([], [], {})
        )
        lowest = scores[-1] if scores else 0.0
        below = [lowest - n for n in range(1, len(rest) + 1)]
        return Ranking(
            question=question.id,
            passages=tuple([*(first[n] for n in places), *rest][:k]),
            scores=tuple([*scores, *below][:k]),
            notes=notes,
        )


def _order(parameters: RerankParameters) -> Order:
    if parameters.endpoint is not None:
        from whichone.retrieval.rerank.chat import ChatOrder

        options = registry.find("chat_models", "endpoint-options")
        opened = registry.find("chat_models", "endpoint")(
            options(
                url=parameters.endpoint,
                model=parameters.model,
                concurrency=parameters.concurrency,
            )
        )
        return ChatOrder(
            opened,
            window=parameters.window,
            step=parameters.step,
            characters=parameters.characters,
        )
    if not parameters.model:
        raise UsageError("re-ranking needs a model", hint="-o model=FOLDER")
    from whichone.retrieval.onnx_model import is_onnx

    if parameters.by == "vectors":
        from whichone.retrieval.dense.encoder import need_encoder
        from whichone.retrieval.rerank.encoders import VectorOrder

        return VectorOrder(need_encoder(parameters.model, device=parameters.device))
    if parameters.by == "tokens":
        from whichone.retrieval.late.encoder import open_token_encoder
        from whichone.retrieval.rerank.encoders import TokenOrder

        return TokenOrder(open_token_encoder(parameters.model, device=parameters.device))
    if is_onnx(parameters.model):
        from whichone.retrieval.rerank.onnx import OnnxCrossEncoder

        return OnnxCrossEncoder(parameters.model)
    from whichone.retrieval.rerank.cross_encoder import CrossEncoderOrder

    return CrossEncoderOrder(parameters.model, device=parameters.device)


def _passages(benchmark: Benchmark) -> dict[str, Passage]:
    """Passages by id; a page id means the page's first passage, for runs that rank pages."""
    held: dict[str, Passage] = {}
    for passage in benchmark.passage_records():
        held[passage.id] = passage
        held.setdefault(passage.page, passage)
    return held
