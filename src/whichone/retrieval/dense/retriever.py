"""Dense retrieval: passages by the closeness of their vectors to the question's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.records import Question, Ranking
from whichone.retrieval.dense.encoder import Encoder, Vectors, encoder_name, need_encoder
from whichone.retrieval.dense.search import Found, NumpySearch, TorchSearch
from whichone.retrieval.dense.vectors import (
    Precision,
    StoredVectors,
    encode_corpus,
    sample_rows,
)

RECALL_QUESTIONS = 200

Index = Literal["exact", "faiss-hnsw", "faiss-ivf", "faiss-sq8", "usearch"]


class DenseParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever.

    `encoder` is a folder, a model's name, an installed package, or "auto"; `passage_encoder` the other
    half of a DPR pair, and `base` the configuration and words of DPR's own checkpoints. `search` says
    where exact search runs: "numpy", or a torch device such as "cuda".
    """

    encoder: str = "auto"
    passage_encoder: str | None = None
    base: str | None = None
    precision: Precision = "float16"
    index: Index = "exact"
    device: str | None = None
    search: str = "numpy"


class Searcher(Protocol):
    def best(self, questions: Vectors, k: int) -> Found: ...


class Dense:
    """Encodes questions and returns the passages whose vectors are closest."""

    Parameters = DenseParameters

    def __init__(
        self,
        encoder: Encoder,
        stored: StoredVectors,
        ids: Sequence[str],
        searcher: Searcher,
        told: dict[str, Any],
    ) -> None:
        if encoder.size != stored.size:
            raise UsageError(
                f"the encoder makes vectors of {encoder.size} numbers, the stored ones have"
                f" {stored.size}",
                where=str(stored.folder.root),
            )
        self.encoder = encoder
        self._stored = stored
        self._searcher = searcher
        self._told = told
        self.ids = ids

    @classmethod
    def for_benchmark(
        cls, benchmark: Benchmark, work: Path, *, encoder: Encoder | str = "auto", **options: Any
    ) -> Dense:
        """Encode a benchmark's passages, or open the vectors that are already there."""
        named = encoder if isinstance(encoder, str) else "given"
        wanted = msgspec.convert({"encoder": named, **options}, DenseParameters, strict=False)
        model = _encoder(wanted) if isinstance(encoder, str) else encoder
        stored = encode_corpus(benchmark, model, work, precision=wanted.precision)
        exact = (
            NumpySearch(stored) if wanted.search == "numpy" else TorchSearch(stored, wanted.search)
        )
        given = {k: v for k, v in msgspec.to_builtins(wanted).items() if v is not None}
        told = {**given, "encoder": encoder_name(named, model), "model": model.describe()}
        searcher: Searcher = exact
        if wanted.index != "exact":
            from whichone.retrieval.dense.approximate import open_approximate

            texts = [question.text for question in benchmark.questions()]
            asked = [texts[n] for n in sample_rows(len(texts), RECALL_QUESTIONS)]
            searcher, details = open_approximate(
                wanted.index, stored, work, lambda: (model.questions(asked), exact)
            )
            told["approximate"] = details
        return cls(model, stored, benchmark.passages["id"].to_pylist(), searcher, told)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "dense", **self._told}

    def vectors(self, rows: npt.NDArray[np.int64]) -> Vectors:
        """The vectors of some passages."""
        return self._stored.read(rows)

    def best(self, questions: Vectors, k: int) -> Found:
        """Ordinals and scores of the k closest passages of each question vector."""
        return self._searcher.best(questions, k)

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        if not questions:
            return
        vectors = self.encoder.questions([question.text for question in questions])
        ordinals, scores = self.best(vectors, k)
        for question, found, values in zip(questions, ordinals, scores, strict=True):
            kept = [(i, s) for i, s in zip(found.tolist(), values.tolist(), strict=True) if i >= 0]
            yield Ranking(
                question=question.id,
                passages=tuple(self.ids[i] for i, _ in kept),
                scores=tuple(s for _, s in kept),
            )


def _encoder(wanted: DenseParameters) -> Encoder:
    if wanted.passage_encoder is None and wanted.base is None:
        return need_encoder(wanted.encoder, device=wanted.device)
    from whichone.retrieval.dense.dpr import open_dpr

    return open_dpr(wanted.encoder, wanted.passage_encoder, base=wanted.base, device=wanted.device)
