"""BM25 over passages as a retriever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BrokenFolder
from whichone.files.folder import Folder
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.analysis import Vocabulary
from whichone.retrieval.bm25.scoring import Scorer

KIND = "bm25 index"


class Bm25Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that changes a score; Pyserini's defaults for k1 and b."""

    k1: float = 0.9
    b: float = 0.4
    stemmer: str = "porter"
    stop_words: str = "lucene"
    title_weight: int = 1


class Bm25:
    """Ranks passages by BM25 over title and text."""

    def __init__(
        self,
        postings: index.Postings,
        vocabulary: Vocabulary,
        ids: Sequence[str],
        parameters: Bm25Parameters,
        *,
        backend: str = "auto",
    ) -> None:
        self.ids = ids
        self.vocabulary = vocabulary
        self.parameters = parameters
        self._scorer = Scorer(postings, backend=backend)

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path, **parameters: Any) -> Bm25:
        """Build the index of a benchmark's passages, or open the one that is already there."""
        wanted = msgspec.convert(parameters, Bm25Parameters, strict=False)
        corpus = benchmark.folder.manifest.files["passages.parquet"].sha256
        place = work / "bm25"
        try:
            folder = Folder.open(place, KIND)
            if folder.manifest.parameters == {**msgspec.to_builtins(wanted), "corpus": corpus}:
                return cls.open(place)
        except Exception:
            pass
        return cls.build(benchmark.passage_records(), place, wanted, corpus=corpus)

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

            index.build(texts(), vocabulary, folder.partial, k1=parameters.k1, b=parameters.b)
            folder.write_bytes("ids.json", msgspec.json.encode(ids))
            folder.write_bytes("terms.json", msgspec.json.encode(vocabulary.terms))
            for name in ("starts", "documents", "weights", "lengths"):
                folder.adopt(f"{name}.npy")
            folder.commit(parameters={**msgspec.to_builtins(parameters), "corpus": corpus})
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, backend: str = "auto") -> Bm25:
        """Open an index; its arrays are mapped, not read."""
        folder = Folder.open(path, KIND)
        parameters = msgspec.convert(folder.manifest.parameters, Bm25Parameters)
        ids = msgspec.json.decode(folder.path("ids.json").read_bytes(), type=list[str])
        terms = msgspec.json.decode(folder.path("terms.json").read_bytes(), type=list[str])
        postings = index.open_postings(folder.root)
        if len(postings) != len(ids):
            raise BrokenFolder("passage ids and postings do not fit", file=path)
        vocabulary = Vocabulary(parameters.stemmer, parameters.stop_words, terms)
        return cls(postings, vocabulary, ids, parameters, backend=backend)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "bm25", **msgspec.to_builtins(self.parameters)}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            ordinals, scores = self._scorer.best(self.vocabulary.find(question.text), k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.ids[i] for i in ordinals.tolist()),
                scores=tuple(scores.tolist()),
            )
