"""BM25 over passages as a retriever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BrokenFolder
from whichone.files.folder import Folder
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.analysis import Vocabulary
from whichone.retrieval.bm25.scoring import Backend, Scorer
from whichone.retrieval.indexes import corpus_hash, index_folder, open_index

KIND = "bm25 index"


class Bm25Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that changes a score; Pyserini's defaults for k1 and b.

    `title_weight` is how often the title is read before the text; 0 leaves it out.
    """

    k1: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 0.9
    b: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    stemmer: str = "porter"
    stop_words: str = "lucene"
    title_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1


class Bm25:
    """Ranks passages by BM25 over title and text."""

    Parameters = Bm25Parameters

    def __init__(
        self,
        postings: index.Postings,
        vocabulary: Vocabulary,
        ids: Sequence[str],
        parameters: Bm25Parameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.ids = ids
        self.vocabulary = vocabulary
        self.parameters = parameters
        self.scorer = Scorer(postings, backend=backend)

    @classmethod
    def for_benchmark(
        cls, benchmark: Benchmark, work: Path, *, backend: Backend = "auto", **parameters: Any
    ) -> Bm25:
        """Build the index of a benchmark's passages, or open the one that is already there."""
        wanted = msgspec.convert(parameters, Bm25Parameters, strict=False)
        corpus = corpus_hash(benchmark)
        told = {**msgspec.to_builtins(wanted), "corpus": corpus}
        place = index_folder(work, "bm25", told)
        if open_index(place, KIND, told) is None:
            cls.build(benchmark.passage_records(), place, wanted, corpus=corpus)
        return cls.open(place, backend=backend)

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        path: Path,
        parameters: Bm25Parameters | None = None,
        *,
        corpus: str = "",
    ) -> Bm25:
        """Index a stream of passages into a folder."""
        parameters = parameters or Bm25Parameters()
        vocabulary = Vocabulary(parameters.stemmer, parameters.stop_words)
        with Folder.create(path, KIND) as folder:
            ids: list[str] = []

            def texts() -> Iterator[str]:
                for passage in passages:
                    ids.append(passage.id)
                    yield " ".join([passage.title] * parameters.title_weight + [passage.text])

            weigh = index.bm25_weights(parameters.k1, parameters.b)
            index.build(texts(), vocabulary, folder.partial, weigh)
            folder.write_bytes("ids.json", msgspec.json.encode(ids))
            folder.write_bytes("terms.json", msgspec.json.encode(vocabulary.terms))
            for name in ("starts", "documents", "weights", "lengths"):
                folder.adopt(f"{name}.npy")
            folder.commit(parameters={**msgspec.to_builtins(parameters), "corpus": corpus})
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, backend: Backend = "auto") -> Bm25:
        """Open an index; its arrays are mapped, not read."""
        folder = Folder.open(path, KIND)
        folder.check()
        told = {k: v for k, v in folder.manifest.parameters.items() if k != "corpus"}
        parameters = msgspec.convert(told, Bm25Parameters)
        ids = msgspec.json.decode(folder.path("ids.json").read_bytes(), type=list[str])
        terms = msgspec.json.decode(folder.path("terms.json").read_bytes(), type=list[str])
        postings = index.open_postings(folder.root)
        if len(postings) != len(ids):
            raise BrokenFolder(
                f"{len(ids)} passage ids, but postings of {len(postings)}",
                file=path,
                hint="remove the folder: it is made again",
            )
        vocabulary = Vocabulary(parameters.stemmer, parameters.stop_words, terms)
        return cls(postings, vocabulary, ids, parameters, backend=backend)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "bm25", **msgspec.to_builtins(self.parameters)}

    @property
    def backend(self) -> str:
        """What computes: numba or numpy; both give the same rankings."""
        return self.scorer.backend

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            ordinals, scores = self.scorer.best(self.vocabulary.find(question.text), k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.ids[i] for i in ordinals.tolist()),
                scores=tuple(scores.tolist()),
            )
