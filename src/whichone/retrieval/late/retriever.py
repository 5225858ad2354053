"""Late interaction as a retriever: candidates by BM25 or one vector each, exact MaxSim among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BrokenFolder, Missing
from whichone.files.folder import Folder
from whichone.protocols import Retriever
from whichone.records import Question, Ranking
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense import Dense
from whichone.retrieval.dense.encoder import Vectors, need_encoder
from whichone.retrieval.dense.search import NumpySearch
from whichone.retrieval.dense.vectors import KIND as VECTORS
from whichone.retrieval.dense.vectors import StoredVectors
from whichone.retrieval.indexes import corpus_hash, index_folder
from whichone.retrieval.late.encoder import TokenEncoder, open_token_encoder
from whichone.retrieval.late.maxsim import maxsim
from whichone.retrieval.late.store import KIND as TOKENS
from whichone.retrieval.late.store import Precision, StoredTokens, store_tokens

KIND = "late index"
CACHED = 4_096
"""Passages whose vectors are kept in memory where none are stored."""


class LateParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model` is a folder of a ColBERT, PyLate or ONNX model, or the `.onnx` file.

    `first` finds the `depth` candidates that are scored exactly; `encoder` is that of a dense one.
    `vectors=none` stores nothing and encodes candidates when they are asked for.
    """

    model: str
    first: Literal["bm25", "dense"] = "bm25"
    encoder: str = "auto"
    depth: Annotated[int, msgspec.Meta(ge=1)] = 100
    vectors: Literal["stored", "none"] = "stored"
    precision: Precision = "int8"
    device: str | None = None


class Tokens(Protocol):
    """Where a passage's token vectors come from."""

    def read(self, row: int) -> Vectors: ...


class Late:
    """Re-scores the candidates of a first retriever by MaxSim; other passages are not returned."""

    Parameters = LateParameters

    def __init__(
        self,
        encoder: TokenEncoder,
        tokens: Tokens,
        first: Retriever,
        ids: Sequence[str],
        parameters: LateParameters,
    ) -> None:
        self.encoder = encoder
        self._tokens = tokens
        self._first = first
        self._ids = ids
        self._rows = {identity: row for row, identity in enumerate(ids)}
        self._parameters = parameters

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path, **options: Any) -> Late:
        parameters = msgspec.convert(options, LateParameters, strict=False)
        given = {**msgspec.to_builtins(parameters), "corpus": corpus_hash(benchmark)}
        return cls.build(benchmark, index_folder(work, "late", given), **options)

    @classmethod
    def build(cls, corpus: Benchmark, folder: str | Path, **options: Any) -> Late:
        """Index the passages into a folder; what is there already is used."""
        parameters = msgspec.convert(options, LateParameters, strict=False)
        folder = Path(folder)
        encoder = open_token_encoder(parameters.model, device=parameters.device)
        first = _build_first(corpus, folder / "first", parameters)
        passages = corpus.passages.select(["id", "title", "text"])
        tokens: Tokens
        if parameters.vectors == "stored":
            precision = parameters.precision
            held = _stored(folder / "tokens", encoder, precision, corpus_hash(corpus))
            tokens = held or store_tokens(
                passages,
                encoder,
                folder / "tokens",
                precision=precision,
                corpus=corpus_hash(corpus),
            )
        else:
            tokens = EncodedWhenAsked(encoder, passages)
        with Folder.create(folder / "late", KIND) as made:
            pq.write_table(passages, made.partial / "passages.parquet", compression="zstd")
            made.adopt("passages.parquet", rows=passages.num_rows)
            made.commit(
                parameters={**msgspec.to_builtins(parameters), "corpus": corpus_hash(corpus)}
            )
        return cls(encoder, tokens, first, passages["id"].to_pylist(), parameters)

    @classmethod
    def open(cls, folder: str | Path, *, device: str | None = None) -> Late:
        """Open an index; token vectors are mapped, not read."""
        folder = Path(folder)
        made = Folder.open(folder / "late", KIND)
        given = {k: v for k, v in made.manifest.parameters.items() if k != "corpus"}
        parameters = msgspec.convert(given, LateParameters)
        encoder = open_token_encoder(parameters.model, device=device or parameters.device)
        passages = made.table("passages")
        tokens: Tokens
        if parameters.vectors == "stored":
            stored = _stored(
                folder / "tokens", encoder, parameters.precision, made.manifest.parameters["corpus"]
            )
            if stored is None:
                raise BrokenFolder(
                    "its token vectors are not there, or of another model",
                    file=folder,
                    hint="build the index again",
                )
            tokens = stored
        else:
            tokens = EncodedWhenAsked(encoder, passages)
        ids = passages["id"].to_pylist()
        first = _open_first(folder / "first", parameters, ids)
        return cls(encoder, tokens, first, ids, parameters)

    def describe(self) -> dict[str, Any]:
        given = {k: v for k, v in msgspec.to_builtins(self._parameters).items() if v is not None}
        if self._parameters.first != "dense":
            given.pop("encoder")
        if self._parameters.vectors == "none":
            given.pop("precision")
        describe = getattr(self._first, "describe", None)
        return {
            "retriever": "late",
            **given,
            "token_model": self.encoder.describe(),
            "candidates": describe() if describe else {},
        }

    def scores(self, question: str, rows: Sequence[int]) -> Vectors:
        """The MaxSim of a question with some passages, by their rows."""
        return maxsim(self.encoder.questions([question])[0], [self._tokens.read(r) for r in rows])

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        depth = max(k, self._parameters.depth)
        encoded = self.encoder.questions([question.text for question in questions])
        first = self._first.search(questions, depth)
        for question, vectors, ranking in zip(questions, encoded, first, strict=True):
            rows = [self._rows[identity] for identity in ranking.passages]
            scores = maxsim(vectors, [self._tokens.read(row) for row in rows])
            best = np.lexsort((np.array(rows, np.int64), -scores))[:k].tolist()
            yield Ranking(
                question=question.id,
                passages=tuple(self._ids[rows[n]] for n in best),
                scores=tuple(float(scores[n]) for n in best),
            )


class EncodedWhenAsked:
    """Token vectors of candidates, encoded when they are asked for; the last ones are kept."""

    def __init__(self, encoder: TokenEncoder, passages: pa.Table) -> None:
        self._encoder = encoder
        self._passages = passages
        self.read = lru_cache(maxsize=CACHED)(self._read)

    def _read(self, row: int) -> Vectors:
        passage = self._passages.slice(row, 1)
        return self._encoder.passages(passage["title"].to_pylist(), passage["text"].to_pylist())[0]


def _stored(
    place: Path, encoder: TokenEncoder, precision: Precision, corpus: str
) -> StoredTokens | None:
    """The finished token vectors of this model and corpus."""
    try:
        folder = Folder.open(place, TOKENS)
    except (Missing, BrokenFolder):
        return None
    wanted = {**encoder.describe(), "precision": precision, "corpus": corpus}
    given = folder.manifest.parameters
    same = all(given.get(key) == msgspec.to_builtins(value) for key, value in wanted.items())
    return StoredTokens(folder) if same else None


def _build_first(corpus: Benchmark, folder: Path, parameters: LateParameters) -> Retriever:
    if parameters.first == "dense":
        return Dense.for_benchmark(corpus, folder, encoder=parameters.encoder)
    try:
        first = Bm25.open(folder)
    except (Missing, BrokenFolder):
        first = Bm25.build(corpus.corpus, folder)
    return first


def _open_first(folder: Path, parameters: LateParameters, ids: Sequence[str]) -> Retriever:
    if parameters.first == "bm25":
        return Bm25.open(folder)
    place = next(iter(sorted(folder.glob("vectors-*"))), folder)
    stored = StoredVectors(Folder.open(place, VECTORS))
    encoder = need_encoder(parameters.encoder, device=parameters.device)
    described = {"encoder": parameters.encoder, "model": encoder.describe()}
    return Dense(encoder, stored, ids, NumpySearch(stored), described)
