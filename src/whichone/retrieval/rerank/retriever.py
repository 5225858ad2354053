"""Re-ranking: the first passages of a ranking in another order, by a cross-encoder or a chat model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np

from whichone import registry
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.files.pools import in_order
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.fusion import Scored, Source, live
from whichone.retrieval.open import index_over

_FOR_CHAT = ("window", "step", "characters", "concurrency")


class Order(Protocol):
    def describe(self) -> dict[str, Any]: ...

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places best first, their scores, and notes."""
        ...


class RerankParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`first` is the index to start from, `depth` how many of each question's passages are re-ordered.

    `model` is a cross-encoder (folder or name; ONNX as a folder or an `.onnx` file), or with
    `endpoint` the name of a chat model there. `by=vectors` orders by a single-vector encoder,
    `by=tokens` by a late-interaction model instead; `vectors` are files of passage vectors for the
    former, as of the dense retriever. A chat model sees `window` passages of up to
    `characters` each at once, moves up by `step`, and is asked `concurrency` questions at a time.
    """

    model: str
    first: str = ""
    by: Literal["pairs", "vectors", "tokens"] = "pairs"
    vectors: str | None = None
    endpoint: str | None = None
    depth: Annotated[int, msgspec.Meta(ge=1)] = 100
    device: str | None = None
    window: Annotated[int, msgspec.Meta(ge=2)] = 20
    step: Annotated[int, msgspec.Meta(ge=1)] = 10
    characters: Annotated[int, msgspec.Meta(ge=1)] = 1_200
    concurrency: Annotated[int, msgspec.Meta(ge=1)] = 16


class Rerank:
    """Re-orders what a source ranks; what is deeper keeps its order below."""

    name = "rerank"
    Parameters = RerankParameters

    def __init__(
        self,
        source: Source,
        order: Order,
        corpus: Corpus,
        *,
        depth: int = 100,
        concurrency: int = 1,
        described: dict[str, Any] | None = None,
        sees: tuple[str, ...] = ("corpus",),
    ) -> None:
        self._source = source
        self._order = order
        self._corpus = corpus
        self._depth = depth
        self._concurrency = concurrency
        self._described = {"retriever": "rerank", "depth": depth, **(described or {})}
        self.sees = sees

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Rerank:
        """Re-orders what the retriever of an index finds."""
        parameters = msgspec.convert(options, RerankParameters, strict=False)
        if not parameters.first:
            raise UsageError(
                "re-ranking starts from an index or a run",
                hint="-o first=INDEX or -o run=RUN, and -o model=FOLDER",
            )
        first = index_over(parameters.first, corpus)
        return cls.of(
            live(first, parameters.depth),
            corpus,
            work,
            parameters,
            {"from": first.describe()},
            getattr(first, "sees", ("corpus",)),
        )

    @classmethod
    def of(
        cls,
        source: Source,
        corpus: Corpus,
        work: Path,
        parameters: RerankParameters,
        described: dict[str, Any],
        sees: tuple[str, ...] = ("corpus",),
    ) -> Rerank:
        """Re-orders what a source ranks, by the model that the parameters name."""
        if parameters.vectors and parameters.by != "vectors":
            raise UsageError("files of passage vectors are for an encoder", hint="-o by=vectors")
        if parameters.step > parameters.window:
            raise UsageError("windows must overlap or touch", hint="step is at most window")
        chat = parameters.endpoint is not None
        given = {
            name: value
            for name, value in msgspec.to_builtins(parameters).items()
            if value not in (None, "") and (chat or name not in _FOR_CHAT)
        }
        return cls(
            source,
            _order(parameters, corpus, work),
            corpus,
            depth=parameters.depth,
            concurrency=parameters.concurrency if chat else 1,
            described={**given, **described},
            sees=sees,
        )

    def describe(self) -> dict[str, Any]:
        return {**self._described, "order": self._order.describe()}

    def close(self) -> None:
        """Lets go of the endpoint."""
        close = getattr(self._order, "close", None)
        if close is not None:
            close()

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        ranked = self._source(questions, k)
        pairs = list(zip(questions, ranked, strict=True))
        return in_order(lambda pair: self._one(*pair, k), pairs, self._concurrency)

    def _one(self, question: Question, ranked: Scored, k: int) -> Ranking:
        ids = [identity for identity, _ in ranked]
        first, rest = ids[: self._depth], ids[self._depth :]
        passages = self._passages(first)
        places, scores, notes = (
            self._order.order(question.text, passages) if first else ([], [], {})
        )
        lowest = scores[-1] if scores else 0.0
        below = [lowest - n for n in range(1, len(rest) + 1)]
        return Ranking(
            question=question.id,
            passages=tuple([*(first[n] for n in places), *rest][:k]),
            scores=tuple([*scores, *below][:k]),
            notes=notes,
        )

    def _passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages to read; a page id means the page's first passage."""
        known = self._corpus.get(ids)
        for identity in ids:
            if identity not in known:
                inside = self._corpus.passages_of(identity)[:1]
                if not inside:
                    raise BadInput("passages of the ranking are not in the corpus", ids=[identity])
                known[identity] = self._corpus.passage(inside[0])
        return [known[identity] for identity in ids]


def _order(parameters: RerankParameters, corpus: Corpus, work: Path) -> Order:
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

        encoder = need_encoder(parameters.model, device=parameters.device)
        if parameters.vectors is None:
            return VectorOrder(encoder)
        from whichone.retrieval.dense.published import published_vectors

        stored = published_vectors(corpus, parameters.vectors, work)
        return VectorOrder(
            encoder,
            lambda passages: stored.read(np.array(corpus.rows([p.id for p in passages]), np.int64)),
        )
    if parameters.by == "tokens":
        from whichone.retrieval.late.encoder import open_token_encoder
        from whichone.retrieval.rerank.encoders import TokenOrder

        return TokenOrder(open_token_encoder(parameters.model, device=parameters.device))
    if is_onnx(parameters.model):
        from whichone.retrieval.rerank.onnx import OnnxCrossEncoder

        return OnnxCrossEncoder(parameters.model)
    from whichone.retrieval.rerank.cross_encoder import CrossEncoderOrder

    return CrossEncoderOrder(parameters.model, device=parameters.device)
