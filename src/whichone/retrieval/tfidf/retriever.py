"""DrQA's TF-IDF over whole pages: hashed uni- and bigrams, ties by page id.

A bucket weighs ln(1 + frequency) times max(0, ln((N - n + 0.5) / (n + 0.5))) on both sides, and the score
is the inner product, without regard to length. What is in half of the pages or more weighs nothing, so
very small corpora return nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.errors import BrokenFolder
from whichone.files.folder import Folder
from whichone.files.mapped_strings import MappedStrings
from whichone.progress import progress
from whichone.records import Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.scoring import Backend, Scorer
from whichone.retrieval.indexes import index_folder, open_index
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
        pages: MappedStrings,
        parameters: TfIdfParameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.pages = pages
        self._buckets = Buckets(parameters.buckets)
        self._parameters = parameters
        self._postings = postings
        self._scorer = Scorer(postings, backend=backend)

    @classmethod
    def for_benchmark(
        cls, benchmark: Benchmark, work: Path, *, backend: Backend = "auto", **parameters: Any
    ) -> TfIdf:
        """Index a benchmark's pages, or open the index that is already there."""
        wanted = msgspec.convert(parameters, TfIdfParameters, strict=False)
        description = _description(benchmark.corpus, wanted)
        place = index_folder(work, "tfidf", description)
        if open_index(place, KIND, description) is None:
            return cls.build(benchmark.corpus, place, backend=backend, **parameters)
        return cls.open(place, backend=backend)

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        path: Path,
        *,
        backend: Backend = "auto",
        workers: int | None = None,
        **parameters: Any,
    ) -> TfIdf:
        """Index a corpus' pages by all cores, or so many; an interrupted build goes on."""
        wanted = msgspec.convert(parameters, TfIdfParameters, strict=False)
        description = _description(corpus, wanted)
        with (
            Folder.create(path, KIND, resume=True) as folder,
            progress("indexing", corpus.page_count, "pages") as advance,
        ):
            index.go_on_or_start(folder, description)
            index.build(
                whole_pages(corpus, wanted.title_weight),
                Buckets(wanted.buckets),
                folder.partial,
                norm=None,
                workers=workers,
                advance=advance,
            )
            pages = (batch["page"] for batch in corpus.page_table.batches(["page"]))
            names = [*index.FILES, *MappedStrings.write(folder.partial, "pages", pages)]
            for name in names:
                if name != "norms.npy":
                    folder.adopt(name)
            folder.commit(parameters=description)
        return cls.open(path, backend=backend)

    @classmethod
    def open(cls, path: Path, *, backend: Backend = "auto") -> TfIdf:
        folder = Folder.open(path, KIND)
        if not folder.has("keys.npy"):
            raise BrokenFolder(
                "an index of an earlier version", file=path, hint="remove it and make it again"
            )
        folder.check()
        known = folder.manifest.parameters
        parameters = msgspec.convert(
            {k: v for k, v in known.items() if k in TfIdfParameters.__struct_fields__},
            TfIdfParameters,
        )
        pages = MappedStrings.open(folder.root, "pages")
        return cls(index.open_postings(folder.root), pages, parameters, backend=backend)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "tfidf", **msgspec.to_builtins(self._parameters)}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            counts = self._buckets.count(question.text, self._postings.keys)
            numbers = list(counts)
            idf = dict(zip(numbers, self._postings.idf(numbers).tolist(), strict=True))
            weights = {n: math.log1p(count) * idf[n] for n, count in counts.items()}
            ordinals, scores = self._scorer.best_weighted(weights, k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.pages.take(ordinals)),
                scores=tuple(scores.tolist()),
            )


def _description(corpus: Corpus, parameters: TfIdfParameters) -> dict[str, Any]:
    return {**msgspec.to_builtins(parameters), "corpus": corpus.hash, "layout": index.LAYOUT}


def whole_pages(corpus: Corpus, title_weight: int) -> Iterator[pa.Array]:
    """The titles, so often, and the texts of all passages of each page; they follow one another."""
    held: list[str] = []
    done: list[str] = []
    page: str | None = None
    for batch in corpus.batches(["page", "title", "text"]):
        for name, title, text in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            if name != page:
                if page is not None:
                    done.append(" ".join(held))
                page, held = name, [title or ""] * title_weight
            held.append(text or "")
        if done:
            yield pa.array(done, pa.large_string())
            done = []
    if page is not None:
        yield pa.array([" ".join(held)], pa.large_string())
