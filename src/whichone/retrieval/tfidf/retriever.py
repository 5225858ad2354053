"""DrQA's TF-IDF over whole pages: hashed uni- and bigrams, ties by page id.

A bucket weighs ln(1 + frequency) times max(0, ln((N - n + 0.5) / (n + 0.5))) on both sides, and the score
is the inner product, without regard to length. What is in half of the pages or more weighs nothing, so
very small corpora return nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.folder import Folder
from whichone.records import Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.scoring import Backend, Scorer
from whichone.retrieval.indexes import corpus_hash, index_folder, open_index
from whichone.retrieval.tfidf.ngrams import BUCKETS, Buckets

KIND = "tf-idf index"


class TfIdfParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`title_weight` is how often the title stands before the page's text, as in KILT's pages: once."""

    buckets: Annotated[int, msgspec.Meta(ge=1)] = BUCKETS
    title_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1


class TfIdf:
    """Ranks pages."""

    Parameters = TfIdfParameters

    def __init__(
        self,
        postings: index.Postings,
        buckets: Buckets,
        pages: Sequence[str],
        parameters: TfIdfParameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.pages = pages
        self._buckets = buckets
        self._parameters = parameters
        self._scorer = Scorer(postings, backend=backend)
        self._idf = drqa_idf(np.diff(postings.starts), len(postings))

    @classmethod
    def for_benchmark(
        cls, benchmark: Benchmark, work: Path, *, backend: Backend = "auto", **parameters: Any
    ) -> TfIdf:
        """Index a benchmark's pages, or open the index that is already there."""
        wanted = msgspec.convert(parameters, TfIdfParameters, strict=False)
        told = {**msgspec.to_builtins(wanted), "corpus": corpus_hash(benchmark)}
        place = index_folder(work, "tfidf", told)
        if open_index(place, KIND, told) is None:
            cls.build(whole_pages(benchmark, wanted.title_weight), place, wanted, told)
        return cls.open(place, backend=backend)

    @classmethod
    def build(
        cls,
        pages: Iterable[tuple[str, str]],
        path: Path,
        parameters: TfIdfParameters,
        told: dict[str, Any] | None = None,
    ) -> None:
        """Index (page id, text) pairs, in order of page ids."""
        buckets = Buckets(size=parameters.buckets)
        ids: list[str] = []

        def texts() -> Iterator[str]:
            for page, text in pages:
                ids.append(page)
                yield text

        with Folder.create(path, KIND) as folder:
            index.build(texts(), buckets, folder.partial, _weigh)
            folder.write_bytes("pages.json", msgspec.json.encode(ids))
            folder.write_bytes("buckets.json", msgspec.json.encode(buckets.buckets))
            for name in ("starts", "documents", "weights", "lengths"):
                folder.adopt(f"{name}.npy")
            folder.commit(parameters=told or msgspec.to_builtins(parameters))

    @classmethod
    def open(cls, path: Path, *, backend: Backend = "auto") -> TfIdf:
        folder = Folder.open(path, KIND)
        folder.check()
        told = {k: v for k, v in folder.manifest.parameters.items() if k != "corpus"}
        parameters = msgspec.convert(told, TfIdfParameters)
        pages = msgspec.json.decode(folder.path("pages.json").read_bytes(), type=list[str])
        held = msgspec.json.decode(folder.path("buckets.json").read_bytes(), type=list[int])
        buckets = Buckets(held, size=parameters.buckets)
        return cls(index.open_postings(folder.root), buckets, pages, parameters, backend=backend)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "tfidf", **msgspec.to_builtins(self._parameters)}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            weights = {
                number: math.log1p(count) * float(self._idf[number])
                for number, count in self._buckets.count(question.text).items()
                if self._idf[number] > 0
            }
            ordinals, scores = self._scorer.best_weighted(weights, k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.pages[n] for n in ordinals.tolist()),
                scores=tuple(scores.tolist()),
            )


def drqa_idf(frequency: npt.NDArray[np.int64], pages: int) -> npt.NDArray[np.float64]:
    """max(0, ln((N - n + 0.5) / (n + 0.5)))."""
    idf = np.log((pages - frequency + 0.5) / (frequency + 0.5))
    return np.asarray(np.maximum(idf, 0), np.float64)


def _weigh(frequency: npt.NDArray[np.int64], lengths: index.Ints) -> index.Weights:
    idf = drqa_idf(frequency, len(lengths))
    return lambda term, page, count: np.log1p(count) * idf[term]


def whole_pages(benchmark: Benchmark, title_weight: int) -> Iterator[tuple[str, str]]:
    """Page ids with the text of all their passages; a page's passages lie together, in order."""
    held: list[str] = []
    page: str | None = None
    for passage in benchmark.passage_records():
        if passage.page != page:
            if page is not None:
                yield page, " ".join(held)
            page, held = passage.page, [passage.title] * title_weight
        held.append(passage.text)
    if page is not None:
        yield page, " ".join(held)
