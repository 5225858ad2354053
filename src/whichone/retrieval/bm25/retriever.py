"""BM25 over passages as a retriever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import BrokenFolder
from whichone.progress import progress
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.analysis import TermNumbers, Vocabulary, by_language
from whichone.retrieval.bm25.scoring import Backend, Scorer
from whichone.retrieval.indexes import created, found_or_built, opened


class Bm25Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that changes a score; Pyserini's defaults for k1 and b.

    The stemmer and the stop words are those of the corpus' language unless they are given; of English,
    Porter's and Lucene's. `title_weight` is how often the title is read before the text; 0 leaves it out.
    """

    k1: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 0.9
    b: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    stemmer: str = "porter"
    stop_words: str = "lucene"
    title_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1


class Bm25:
    """Ranks passages by BM25 over title and text."""

    name = "bm25"
    Parameters = Bm25Parameters

    def __init__(
        self,
        postings: index.Postings,
        vocabulary: Vocabulary,
        corpus: Corpus,
        parameters: Bm25Parameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.corpus = corpus
        self.vocabulary = vocabulary
        self.parameters = parameters
        self.scorer = Scorer(postings, backend=backend)

    @classmethod
    def over(
        cls, corpus: Corpus, work: Path, *, backend: Backend = "auto", **parameters: Any
    ) -> Bm25:
        """Build the index of a corpus in the work folder, or open the one that is already there."""
        chosen = by_language(parameters, corpus)
        wanted = msgspec.to_builtins(msgspec.convert(chosen, Bm25Parameters, strict=False))
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
    ) -> Bm25:
        """Index a corpus, or any passages, by all cores, or so many; an interrupted build goes on."""
        chosen = by_language(parameters, corpus)
        wanted = msgspec.convert(chosen, Bm25Parameters, strict=False)
        options = msgspec.to_builtins(wanted)
        numbering = TermNumbers(wanted.stemmer, wanted.stop_words)
        with created(Path(folder), cls.name, corpus, options, resume=True) as (place, held):
            index.go_on_or_start(place, {**options, "corpus": held.hash, "layout": index.LAYOUT})
            with progress("indexing", len(held), "passages") as advance:
                index.build(
                    texts_of(held, wanted.title_weight),
                    numbering,
                    place.partial,
                    norm=index.bm25_norm(wanted.k1, wanted.b),
                    workers=workers,
                    advance=advance,
                )
            for name in index.FILES:
                place.adopt(name)
        return cls.open(folder, backend=backend)

    @classmethod
    def open(cls, folder: str | Path, *, backend: Backend = "auto") -> Bm25:
        """Open an index; its arrays are mapped, not read."""
        place, corpus, options = opened(folder, cls.name)
        place.check()
        parameters = msgspec.convert(options, Bm25Parameters)
        postings = index.open_postings(place.root)
        if len(postings) != len(corpus):
            raise BrokenFolder(
                f"{len(corpus)} passages, but postings of {len(postings)}",
                file=place.root,
                hint="remove the folder: it is made again",
            )
        vocabulary = Vocabulary(parameters.stemmer, parameters.stop_words, postings.keys)
        return cls(postings, vocabulary, corpus, parameters, backend=backend)

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
                passages=tuple(self.corpus.ids(ordinals.tolist())),
                scores=tuple(scores.tolist()),
            )


def texts_of(corpus: Corpus, title_weight: int) -> Iterator[pa.Array]:
    """Each passage's title, so often, and its text."""
    for batch in corpus.batches(["title", "text"]):
        title, text = (pc.coalesce(column, "") for column in batch.columns)
        yield pc.binary_join_element_wise(*[title] * title_weight, text, " ")
