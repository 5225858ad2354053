"""Re-ranking of runs."""

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol, Self, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from whichone import registry
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, needs
from whichone.files.pools import in_order
from whichone.protocols import ChatModel, Retriever
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.dense.encoder import Encoder, Vectors, model_folder, unknown_model, weights_hash
from whichone.retrieval.indexes import index_over, open_indexes
from whichone.retrieval.late import maxsim
from whichone.retrieval.token_vectors import TokenEncoder

# Fusion: one ranking made of several, by reciprocal ranks or by weighted scores.


Scored = list[tuple[str, float]]
# Questions and a depth to what was ranked for each, best first, with its scores.
Source = Callable[[Sequence[Question], int], list[Scored]]


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
    name = "fusion"
    deepens = False  # Asked for more, it weighs other lists: its first passages would change
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
        self._parameters, self._described, self.sees = parameters, described, sees

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Self:
        parameters = msgspec.convert(options, FusionParameters, strict=False)
        retrievers = open_indexes(parameters.first, corpus)
        if len(retrievers) < 2:
            raise UsageError("fusion takes at least two indexes", hint="-o first=INDEX_A,INDEX_B")
        described = {**msgspec.to_builtins(parameters), "fused": [r.describe() for _, r in retrievers]}
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
            passages, scores = zip(*fused[:k], strict=True) if fused else ((), ())
            yield Ranking(question=question.id, passages=passages, scores=scores)


def live(retriever: Retriever, depth: int) -> Source:
    def scored(ranking: Ranking) -> Scored:
        scores = ranking.scores or tuple(-float(n) for n in range(len(ranking.passages)))
        return list(zip(ranking.passages, scores, strict=True))

    return lambda questions, k: [*map(scored, retriever.search(questions, max(k, depth)))]


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


# Re-ranking: the first passages of a ranking in another order, by a cross-encoder or a chat model.


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
    deepens = False  # Asked twice, it would read everything twice
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
        self._source, self._order, self._corpus = source, order, corpus
        self._depth, self._concurrency = depth, concurrency
        self._described = {"retriever": "rerank", "depth": depth, **(described or {})}
        self.sees = sees

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Self:
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
    ) -> Self:
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
        getattr(self._order, "close", lambda: None)()

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        pairs = list(zip(questions, self._source(questions, k), strict=True))
        return in_order(lambda pair: self._one(*pair, k), pairs, self._concurrency)

    def _one(self, question: Question, ranked: Scored, k: int) -> Ranking:
        ids = [identity for identity, _ in ranked]
        first, rest = ids[: self._depth], ids[self._depth :]
        passages = self._passages(first)
        places, scores, notes = self._order.order(question.text, passages) if first else ([], [], {})
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
                if not (inside := self._corpus.passages_of(identity)[:1]):
                    raise BadInput("passages of the ranking are not in the corpus", ids=[identity])
                known[identity] = self._corpus.passage(inside[0])
        return [known[identity] for identity in ids]


def _order(parameters: RerankParameters, corpus: Corpus, work: Path) -> Order:
    if parameters.endpoint is not None:
        options = registry.find("chat_models", "endpoint-options")
        opened = registry.find("chat_models", "endpoint")(
            options(url=parameters.endpoint, model=parameters.model, concurrency=parameters.concurrency)
        )
        return ChatOrder(
            opened, window=parameters.window, step=parameters.step, characters=parameters.characters
        )
    if not parameters.model:
        raise UsageError("re-ranking needs a model", hint="-o model=FOLDER")
    from whichone.retrieval.onnx_model import is_onnx

    if parameters.by == "vectors":
        from whichone.retrieval.dense.encoder import need_encoder

        encoder = need_encoder(parameters.model, device=parameters.device)
        if parameters.vectors is None:
            return VectorOrder(encoder)
        from whichone.retrieval.dense.vectors import published_vectors

        stored = published_vectors(corpus, parameters.vectors, work)
        return VectorOrder(
            encoder, lambda passages: stored.read(np.array(corpus.rows([p.id for p in passages]), np.int64))
        )
    if parameters.by == "tokens":
        from whichone.retrieval.token_vectors import open_token_encoder

        return TokenOrder(open_token_encoder(parameters.model, device=parameters.device))
    place = str(model_folder(parameters.model) or parameters.model)
    if is_onnx(place):
        from whichone.retrieval.onnx_model import OnnxCrossEncoder

        return OnnxCrossEncoder(place)
    return CrossEncoderOrder(parameters.model, device=parameters.device)


# Orders passages by asking a chat model for a permutation, in windows from the end to the start.
# The way of Sun et al. (2023), "Is ChatGPT Good at Search?": the model sees numbered passages and names
# the numbers in order of relevance; windows overlap so that a good passage can rise to the top.


WINDOW = 20
STEP = 10
CHARACTERS = 1_200
_NUMBER = re.compile(r"\d+")


class ChatOrder:
    """Re-orders with any chat model."""

    def __init__(
        self, model: ChatModel, *, window: int = WINDOW, step: int = STEP, characters: int = CHARACTERS
    ) -> None:
        self._model, self._window, self._step = model, window, step
        self._characters = characters

    def describe(self) -> dict[str, Any]:
        description = getattr(self._model, "describe", lambda: {"model": type(self._model).__name__})()
        shape = {"window": self._window, "step": self._step, "characters": self._characters}
        return {"by": "chat model", **description, **shape}

    def close(self) -> None:
        getattr(self._model, "close", lambda: None)()

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        places = list(range(len(passages)))
        unread = 0
        start = max(0, len(places) - self._window)
        while places:
            window = places[start : start + self._window]
            reply = self._model.complete(
                messages(question, [passages[n] for n in window], self._characters),
                max_tokens=6 * len(window) + 20,
            )
            named = permutation(reply.text or "", len(window))
            unread += not named
            kept = [n for n in range(len(window)) if n not in set(named)]
            places[start : start + self._window] = [window[n] for n in named + kept]
            if start == 0:
                break
            start = max(0, start - self._step)
        scores = [1.0 / rank for rank in range(1, len(places) + 1)]
        return places, scores, {"unread_replies": unread} if unread else {}


def messages(
    question: str, passages: Sequence[Passage], characters: int = CHARACTERS
) -> list[dict[str, str]]:
    shown = "\n\n".join(
        f"[{n}] {passage.title}: {passage.text[:characters]}" for n, passage in enumerate(passages, 1)
    )
    return [
        {
            "role": "system",
            "content": "You order passages by how well they answer a question. Several may be about"
            " different things of the same name: only the one that is meant is relevant.",
        },
        {
            "role": "user",
            "content": f"Question: {question}\n\n{shown}\n\nName all passages from the most to the least"
            " relevant, as [2] > [1] > [3]. Reply with the numbers only.",
        },
    ]


def permutation(reply: str, size: int) -> list[int]:
    """The places that a reply names, from 0, each once, others than 1 to `size` passed over."""
    named = (int(number) - 1 for number in _NUMBER.findall(reply))
    return list(dict.fromkeys(n for n in named if 0 <= n < size))


# Scores pairs of question and passage with a cross-encoder.


BATCH = 32
_WITHOUT_HEAD = ("Model", "Encoder", "ForMaskedLM", "ForPreTraining")


class CrossEncoderOrder:
    """A folder or name that sentence-transformers can open as a CrossEncoder."""

    def __init__(self, model: str, *, device: str | None = None) -> None:
        with needs("sentence-transformers", "dense"), warnings.catch_warnings(action="ignore"):
            from sentence_transformers import CrossEncoder
        self._name = Path(model).resolve().name if Path(model).is_dir() else model
        self._hash = weights_hash(Path(model)) if Path(model).is_dir() else ""
        try:
            with warnings.catch_warnings(action="ignore"):
                self._model = CrossEncoder(model, device=device, local_files_only=True)
        except (OSError, ValueError) as error:
            raise unknown_model(model) from error
        # a checkpoint without a head gets a new one at random, and would order at random
        heads = list(getattr(self._model.config, "architectures", None) or ())
        if heads and all(head.endswith(_WITHOUT_HEAD) for head in heads):
            raise BadInput(
                f"a checkpoint of the wrong kind: it is a {', '.join(heads)}, which scores no pairs",
                file=model,
                hint="train one with whichone train reranker, or search with it: --retriever dense",
            )

    def describe(self) -> dict[str, Any]:
        return {"by": "cross-encoder", "model": self._name, "weights": self._hash}

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        pairs = [(question, f"{p.title} {p.text}".strip()) for p in passages]
        scores = [float(s) for s in self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False)]
        if any(not math.isfinite(score) for score in scores):
            raise BadInput(f"{self._name} gave a score that is not a number")
        places = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        return places, [scores[n] for n in places], {}


# Orders passages by the closeness of vectors: one a passage, or one a token.


KEPT = 20_000  # Passages whose vectors are kept; a passage is a candidate of many questions

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

    def __init__(self, encoder: Encoder, given: Callable[[Sequence[Passage]], Vectors] | None = None) -> None:
        self._encoder, self._given = encoder, given
        self._kept: _Kept[Vectors] = _Kept(lambda titles, texts: list(encoder.passages(titles, texts)))

    def describe(self) -> dict[str, Any]:
        return {"by": "vectors", **self._encoder.describe()}

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
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
        return best_first(maxsim(self._encoder.questions([question])[0], self._kept.of(passages)))


def best_first(scores: npt.NDArray[Any]) -> tuple[list[int], list[float], dict[str, Any]]:
    places = np.argsort(-scores, kind="stable").tolist()
    return places, [float(scores[n]) for n in places], {}
