"""Late interaction: passages by the closest of their tokens to each token of the question."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

import msgspec
import numpy as np

from whichone.corpus.corpus import Corpus
from whichone.errors import BrokenFolder, Missing
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.protocols import Retriever
from whichone.records import Passage, Question, Ranking
from whichone.retrieval import token_vectors
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense import Dense
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.indexes import adopt_folder, created, found_or_built, opened
from whichone.retrieval.token_vectors import KIND as TOKENS

# MaxSim: for each token of the question its closest token of the passage, added up.


def maxsim(question: Vectors, passages: Sequence[Vectors]) -> Vectors:
    if not passages:
        return np.zeros(0, np.float32)
    starts = np.concatenate([[0], np.cumsum(list(map(len, passages)))[:-1]])
    return np.maximum.reduceat(question @ np.concatenate(passages).T, starts, axis=1).sum(0)


# Late interaction as a retriever: candidates by BM25 or one vector each, exact MaxSim among them.


CACHED = 4_096  # Passages whose vectors are kept in memory where none are stored


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
    precision: token_vectors.Precision = "int8"
    device: str | None = None


class Tokens(Protocol):
    """Where a passage's token vectors come from."""

    def read(self, row: int) -> Vectors: ...

    def read_all(self, rows: Sequence[int]) -> list[Vectors]: ...


class Late:
    """Re-scores the candidates of a first retriever by MaxSim; other passages are not returned."""

    name = "late"
    Parameters = LateParameters

    def __init__(
        self,
        encoder: token_vectors.TokenEncoder,
        tokens: Tokens,
        first: Retriever,
        corpus: Corpus,
        parameters: LateParameters,
    ) -> None:
        self.encoder, self.corpus, self._tokens = encoder, corpus, tokens
        self._first, self._parameters = first, parameters

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Self:
        parameters = msgspec.convert(options, LateParameters, strict=False)
        model = token_vectors.open_token_encoder(parameters.model, device=parameters.device).describe()
        return cls.open(found_or_built(cls, corpus, work, msgspec.to_builtins(parameters), model))

    @classmethod
    def build(cls, corpus: Corpus | Iterable[Passage], folder: str | Path, **options: Any) -> Self:
        """Index passages into a folder; killed and started again it goes on."""
        parameters = msgspec.convert(options, LateParameters, strict=False)
        encoder = token_vectors.open_token_encoder(parameters.model, device=parameters.device)
        kept = msgspec.to_builtins(parameters)
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            first = place.partial / "first"
            if not (first / MANIFEST).exists() and parameters.first == "dense":
                Dense.build(held, first, encoder=parameters.encoder)
            elif not (first / MANIFEST).exists():
                Bm25.build(held, first)
            adopt_folder(place, "first")
            if parameters.vectors == "stored":
                precision, tokens = parameters.precision, place.partial / "tokens"
                if _stored(tokens, encoder, precision, held.hash) is None:
                    columns = held.passages.select(["id", "title", "text"])
                    token_vectors.store_tokens(
                        columns, encoder, tokens, precision=precision, corpus=held.hash
                    )
                adopt_folder(place, "tokens")
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path, *, device: str | None = None) -> Self:
        place, corpus, options = opened(folder, cls.name)
        parameters = msgspec.convert(options, LateParameters)
        encoder = token_vectors.open_token_encoder(parameters.model, device=device or parameters.device)
        tokens: Tokens
        if parameters.vectors == "stored":
            stored = _stored(place.root / "tokens", encoder, parameters.precision, corpus.hash)
            if stored is None:
                raise BrokenFolder(
                    "its token vectors are not there, or of another model",
                    file=place.root,
                    hint="build the index again",
                )
            tokens = stored
        else:
            tokens = EncodedWhenAsked(encoder, corpus)
        first: Retriever = (
            Bm25.open(place.root / "first")
            if parameters.first == "bm25"
            else Dense.open(place.root / "first")
        )
        return cls(encoder, tokens, first, corpus, parameters)

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
        return maxsim(self.encoder.questions([question])[0], self._tokens.read_all(rows))

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        depth = max(k, self._parameters.depth)
        encoded = self.encoder.questions([question.text for question in questions])
        first = self._first.search(questions, depth)
        for question, vectors, ranking in zip(questions, encoded, first, strict=True):
            rows = [row for row in self.corpus.rows(ranking.passages) if row is not None]
            scores = maxsim(vectors, self._tokens.read_all(rows))
            best = np.lexsort((np.array(rows, np.int64), -scores))[:k].tolist()
            yield Ranking(
                question=question.id,
                passages=tuple(self.corpus.ids([rows[n] for n in best])),
                scores=tuple(float(scores[n]) for n in best),
            )


class EncodedWhenAsked:
    """Token vectors of candidates, encoded together when they are asked for; the last ones are kept."""

    def __init__(self, encoder: token_vectors.TokenEncoder, corpus: Corpus) -> None:
        self._encoder, self._corpus = encoder, corpus
        self._kept: dict[int, Vectors] = {}

    def read(self, row: int) -> Vectors:
        return self.read_all([row])[0]

    def read_all(self, rows: Sequence[int]) -> list[Vectors]:
        if new := [row for row in dict.fromkeys(rows) if row not in self._kept]:
            passages = self._corpus.take(new, ["title", "text"])
            encoded = self._encoder.passages(passages["title"].to_pylist(), passages["text"].to_pylist())
            self._kept.update(zip(new, encoded, strict=True))
        vectors = [self._kept[row] for row in rows]
        for row in list(self._kept)[: max(0, len(self._kept) - CACHED)]:
            del self._kept[row]
        return vectors


def _stored(
    place: Path, encoder: token_vectors.TokenEncoder, precision: token_vectors.Precision, corpus: str
) -> token_vectors.StoredTokens | None:
    try:
        folder = Folder.open(place, TOKENS)
    except (Missing, BrokenFolder):
        return None
    wanted = {**encoder.describe(), "precision": precision, "corpus": corpus}
    given = folder.manifest.parameters
    same = all(given.get(key) == msgspec.to_builtins(value) for key, value in wanted.items())
    return token_vectors.StoredTokens(folder) if same else None
