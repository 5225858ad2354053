"""BM25 over passages as a retriever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.errors import BrokenFolder
from whichone.files.folder import Folder
from whichone.files.mapped_strings import MappedStrings
from whichone.progress import progress
from whichone.records import Question, Ranking
from whichone.retrieval.bm25 import index
from whichone.retrieval.bm25.analysis import TermNumbers, Vocabulary
from whichone.retrieval.bm25.scoring import Backend, Scorer
from whichone.retrieval.indexes import index_folder, open_index

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
        ids: MappedStrings,
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
        description = _description(benchmark.corpus, wanted)
        place = index_folder(work, "bm25", description)
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
    ) -> Bm25:
        """Index a corpus into a folder by all cores, or so many; an interrupted build goes on."""
        wanted = msgspec.convert(parameters, Bm25Parameters, strict=False)
        description = _description(corpus, wanted)
        numbering = TermNumbers(wanted.stemmer, wanted.stop_words)
        with (
            Folder.create(path, KIND, resume=True) as folder,
            progress("indexing", len(corpus), "passages") as advance,
        ):
            index.go_on_or_start(folder, description)
            index.build(
                texts_of(corpus, wanted.title_weight),
                numbering,
                folder.partial,
                norm=index.bm25_norm(wanted.k1, wanted.b),
                workers=workers,
                advance=advance,
            )
            ids = (batch["id"] for batch in corpus.batches(["id"]))
            for name in (*index.FILES, *MappedStrings.write(folder.partial, "ids", ids)):
                folder.adopt(name)
            folder.commit(parameters=description)
        return cls.open(path, backend=backend)

    @classmethod
    def open(cls, path: Path, *, backend: Backend = "auto") -> Bm25:
        """Open an index; its arrays are mapped, not read."""
        folder = Folder.open(path, KIND)
        if not folder.has("keys.npy"):
            raise BrokenFolder(
                "an index of an earlier version", file=path, hint="remove it and make it again"
            )
        folder.check()
        known = folder.manifest.parameters
        parameters = msgspec.convert(
            {k: v for k, v in known.items() if k in Bm25Parameters.__struct_fields__},
            Bm25Parameters,
        )
        postings, ids = index.open_postings(folder.root), MappedStrings.open(folder.root, "ids")
        if len(postings) != len(ids):
            raise BrokenFolder(
                f"{len(ids)} passage ids, but postings of {len(postings)}",
                file=path,
                hint="remove the folder: it is made again",
            )
        vocabulary = Vocabulary(parameters.stemmer, parameters.stop_words, postings.keys)
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
                passages=tuple(self.ids.take(ordinals)),
                scores=tuple(scores.tolist()),
            )


def _description(corpus: Corpus, parameters: Bm25Parameters) -> dict[str, Any]:
    return {**msgspec.to_builtins(parameters), "corpus": corpus.hash, "layout": index.LAYOUT}


def texts_of(corpus: Corpus, title_weight: int) -> Iterator[pa.Array]:
    """Each passage's title, so often, and its text."""
    for batch in corpus.batches(["title", "text"]):
        title, text = (pc.coalesce(column, "") for column in batch.columns)
        yield pc.binary_join_element_wise(*[title] * title_weight, text, " ")
