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
import pyarrow as pa

from whichone.corpus.corpus import Corpus
from whichone.progress import progress
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.scoring import Backend, Scorer
from whichone.retrieval.indexes import created, found_or_built, opened
from whichone.retrieval.tfidf.ngrams import BUCKETS, DRQA, Buckets
from whichone.text.language import ENGLISH, base_code, stop_words_of

BLOCK_BYTES = 16 << 20
"""Texts that a worker counts at a time: with their pairs of words they take far more memory than BM25's."""


class TfIdfParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`title_weight` is how often the title comes before the page's text, as in KILT's pages: once.

    `stop_words` are DrQA's, or those of the corpus' language where it is not English.
    """

    buckets: Annotated[int, msgspec.Meta(ge=1)] = BUCKETS
    stop_words: str = DRQA
    title_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1


class TfIdf:
    """Ranks pages."""

    name = "tfidf"
    Parameters = TfIdfParameters

    def __init__(
        self,
        postings: index.Postings,
        corpus: Corpus,
        parameters: TfIdfParameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.corpus = corpus
        self._buckets = Buckets(parameters.buckets, parameters.stop_words)
        self._parameters = parameters
        self._postings = postings
        self._scorer = Scorer(postings, backend=backend)

    @classmethod
    def over(
        cls, corpus: Corpus, work: Path, *, backend: Backend = "auto", **parameters: Any
    ) -> TfIdf:
        """Index a corpus' pages in the work folder, or open the index that is already there."""
        chosen = _by_language(parameters, corpus)
        wanted = msgspec.to_builtins(msgspec.convert(chosen, TfIdfParameters, strict=False))
        place = found_or_built(cls, corpus, work, wanted, {"layout": index.LAYOUT})
        return cls.open(place, backend=backend)

    @classmethod
    def build(
        cls,
        corpus: Corpus | Iterable[Passage],
        folder: Path,
        *,
        backend: Backend = "auto",
        workers: int | None = None,
        **parameters: Any,
    ) -> TfIdf:
        """Index the pages of a corpus by all cores, or so many; an interrupted build goes on."""
        wanted = msgspec.convert(_by_language(parameters, corpus), TfIdfParameters, strict=False)
        options = msgspec.to_builtins(wanted)
        with created(Path(folder), cls.name, corpus, options, resume=True) as (place, held):
            begun = {"corpus": held.hash, "layout": index.LAYOUT, "bytes": BLOCK_BYTES}
            index.go_on_or_start(place, {**options, **begun})
            with progress("indexing", held.page_count, "pages") as advance:
                index.build(
                    whole_pages(held, wanted.title_weight),
                    Buckets(wanted.buckets, wanted.stop_words),
                    place.partial,
                    norm=None,
                    workers=workers,
                    advance=advance,
                    block_bytes=BLOCK_BYTES,
                )
            for name in index.FILES:
                if name != "norms.npy":
                    place.adopt(name)
        return cls.open(folder, backend=backend)

    @classmethod
    def open(cls, folder: str | Path, *, backend: Backend = "auto") -> TfIdf:
        place, corpus, options = opened(folder, cls.name)
        place.check()
        parameters = msgspec.convert(options, TfIdfParameters)
        return cls(index.open_postings(place.root), corpus, parameters, backend=backend)

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
                passages=tuple(self.corpus.page_ids(ordinals.tolist())),
                scores=tuple(scores.tolist()),
            )


def _by_language(parameters: dict[str, Any], corpus: object) -> dict[str, Any]:
    language = getattr(corpus, "language", ENGLISH)
    if base_code(language) == ENGLISH:
        return parameters
    return {"stop_words": stop_words_of(language), **parameters}


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
