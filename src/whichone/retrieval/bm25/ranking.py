"""From a query's terms to its best passages: MaxScore in numba, or in a small corpus all lists added up by numpy.

Both give the same scores in the same order: by score, ties by passage ordinal.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import BrokenFolder, UsageError
from whichone.files.pools import cores_for
from whichone.progress import progress
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import inverted
from whichone.retrieval.bm25.analysis import TermNumbers, Vocabulary, by_language
from whichone.retrieval.bm25.inverted import Postings
from whichone.retrieval.bm25.postings import RealPostings, length_norms
from whichone.retrieval.indexes import created, found_or_built, opened

Best = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
Backend = Literal["auto", "numba", "numpy"]
_Weighted = Sequence[tuple[int, np.float32]]
WINDOW = 1 << 15  # Passages whose sums fit into a core's cache
_SMALL = 20_000  # Below so many passages, numpy has answered a thousand questions before numba is imported
_KEPT = 8_192  # Of a small index, so many lists stay decoded
# Lists of so many entries together are added up whole by numba sooner than their bounds are compared.
_ADDED = 200_000


class Scorer:
    """Scores queries one after the other over the same postings."""

    def __init__(self, postings: Postings | RealPostings, *, backend: Backend = "auto") -> None:
        if backend not in ("auto", "numba", "numpy"):
            raise UsageError(f"there is no backend {backend!r}", hint="auto, numba or numpy")
        self.postings = postings
        self._numba = backend == "numba" or (backend == "auto" and len(postings) >= _SMALL)
        self._arrays: tuple[npt.NDArray[Any], ...] = postings.arrays()
        self._impacts, self._impacts_near = postings.impacts, postings.impacts_near
        if len(postings) < _SMALL:
            self._impacts = kept = functools.lru_cache(_KEPT)(postings.impacts)
            self._impacts_near = lambda term, passages: kept(term)

    @property
    def backend(self) -> str:
        return "numba" if self._numba else "numpy"

    @functools.cached_property
    def _kernels(self) -> ModuleType:
        """Imported with the first query, compiled when they are first called, and kept on disk."""
        from whichone.retrieval.bm25 import kernels

        return kernels

    @functools.cached_property
    def _scores(self) -> npt.NDArray[np.float32]:
        """Where sums are added up; all 0 between two queries."""
        return np.zeros(len(self.postings), np.float32)

    @functools.cached_property
    def _touched(self) -> npt.NDArray[np.int32]:
        """Which passages have a sum; a place more than there are passages."""
        return np.empty(min(len(self.postings), _ADDED) + 1, np.int32)

    def best(self, terms: Sequence[int], k: int) -> Best:
        """Ordinals and scores of the k best passages that share a term with the query."""
        return self.best_weighted(Counter(terms), k)

    def best_weighted(self, repeats: Mapping[int, float], k: int) -> Best:
        """The same where each term of the query counts so often, above 0."""
        if not (counted := self._weighted(repeats)) or not len(self.postings):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if not self._numba:
            return self._add_all(counted, k)
        lists, size = self._lists(counted), len(self.postings)
        if isinstance(self.postings, RealPostings):
            return in_order(*self._kernels.best_real(*lists, *self._arrays, self._scores, k))
        if int(lists[1].sum()) <= _ADDED:
            every = (*lists, *self._arrays, self._scores, self._touched)
            return in_order(*self._kernels.best_of_all(*every, min(k, size)))
        rows, scores, _ = self._kernels.best(
            *lists,
            self.postings.rise,
            rounding(len(counted)),
            self.postings.ceilings,
            self.postings.floor,
            *self._arrays,
            size,
            min(k, size),
            WINDOW,
        )
        return in_order(rows, scores)

    def of(self, terms: Sequence[int], passages: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The scores of some passages only, by looking each up among a term's postings."""
        return self.of_weighted(Counter(terms), passages)

    def of_weighted(
        self, repeats: Mapping[int, float], passages: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """The same where each term of the query counts so often, above 0."""
        counted = self._weighted(repeats)
        passages = np.asarray(passages, np.int64)
        if not counted or not len(passages):
            return np.zeros(len(passages), np.float32)
        if self._numba and isinstance(self.postings, Postings):
            return self._kernels.of(*self._lists(counted), *self._arrays, passages)
        order = np.argsort(passages, kind="stable")
        scores = np.empty(len(passages), np.float32)
        scores[order] = self._of(counted, passages[order])
        return scores

    def _weighted(self, repeats: Mapping[int, float]) -> _Weighted:
        """Terms in ascending order with what their impacts are multiplied by, those that weigh something."""
        if not (terms := sorted(repeats)):
            return []
        if isinstance(self.postings, Postings):
            self.postings.compare(terms)
        weights = self.postings.idf(terms) * [repeats[term] for term in terms]
        return [(t, w) for t, w in zip(terms, weights.astype(np.float32), strict=True) if w > 0]

    def _lists(self, counted: _Weighted) -> tuple[npt.NDArray[np.generic], ...]:
        terms = np.array([term for term, _ in counted], np.int64)
        weights = np.array([weight for _, weight in counted], np.float32)
        frequencies = self.postings.frequencies.take(terms).astype(np.int64)
        return self.postings.places.take(terms), frequencies, weights

    def _of(self, counted: _Weighted, passages: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The scores of passages in ascending order."""
        scores = np.zeros(len(passages), np.float32)
        for term, weight in counted:
            documents, impacts = self._impacts_near(term, passages)
            if len(documents):
                at = np.searchsorted(documents, passages)
                at[at == len(documents)] = 0
                here = np.flatnonzero(documents.take(at) == passages)
                scores[here] += weight * impacts.take(at.take(here))
        return scores

    def _add_all(self, counted: _Weighted, k: int) -> Best:
        """Every list added up."""
        scores = self._scores
        seen, short = [], None
        for term, weight in counted:
            documents, impacts = self._impacts(term)
            before = scores.take(documents)
            scores[documents] = before + weight * impacts
            seen.append(documents[before == 0])
            if len(documents) >= k and (short is None or len(documents) < len(short)):
                short = documents
        every = np.concatenate(seen)
        sums = scores.take(every)
        if short is not None:  # the k-th best of one list is no more than that of all
            ranked = scores.take(short)
            use = np.flatnonzero(sums >= np.partition(ranked, len(ranked) - k)[len(ranked) - k])
            scores[every] = 0
            return top(every.take(use), sums.take(use), k)
        scores[every] = 0
        return top(every, sums, k)


def rounding(terms: int) -> float:
    """More than sums of so many numbers of single precision in another order can differ by, of their size."""
    return 1e-5 + 3e-7 * terms


def top(ordinals: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], k: int) -> Best:
    """The k best, ties by ordinal; `ordinals` need not be sorted."""
    if len(scores) > k:
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        level = np.flatnonzero(scores == threshold)
        level = level[np.argsort(ordinals[level], kind="stable")[: k - len(above)]]
        keep = np.concatenate([above, level])
        ordinals, scores = ordinals[keep], scores[keep]
    return in_order(ordinals, scores)


def in_order(ordinals: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]) -> Best:
    order = np.lexsort((ordinals, -scores))
    return ordinals[order], scores[order]


# BM25 over passages as a retriever.


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
        postings: inverted.Postings,
        vocabulary: Vocabulary,
        corpus: Corpus,
        parameters: Bm25Parameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.corpus, self.vocabulary, self.parameters = corpus, vocabulary, parameters
        self.scorer = Scorer(postings, backend=backend)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, backend: Backend = "auto", **parameters: Any) -> Self:
        """Build the index of a corpus in the work folder, or open the one that is already there."""
        chosen = by_language(parameters, corpus)
        wanted = msgspec.to_builtins(msgspec.convert(chosen, Bm25Parameters, strict=False))
        place = found_or_built(cls, corpus, work, wanted, {"layout": inverted.LAYOUT})
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
    ) -> Self:
        """Index a corpus, or any passages, by all cores, or so many; an interrupted build goes on."""
        wanted = msgspec.convert(by_language(parameters, corpus), Bm25Parameters, strict=False)
        options = msgspec.to_builtins(wanted)
        numbering = TermNumbers(wanted.stemmer, wanted.stop_words)
        with created(Path(folder), cls.name, corpus, options, resume=True) as (place, held):
            shape = {"layout": inverted.LAYOUT, "block": inverted.BLOCK}
            place.resumes({**options, **shape, "corpus": held.hash})
            with progress("indexing", len(held), "passages") as advance:
                inverted.build(
                    texts_of(held, wanted.title_weight),
                    numbering,
                    place.partial,
                    norm=functools.partial(length_norms, k1=wanted.k1, b=wanted.b),
                    workers=workers or cores_for(len(held)),
                    advance=advance,
                )
            for name in inverted.FILES:
                place.adopt(name)
        return cls.open(folder, backend=backend)

    @classmethod
    def open(cls, folder: str | Path, *, backend: Backend = "auto") -> Self:
        """Open an index; its arrays are mapped, not read."""
        place, corpus, options = opened(folder, cls.name)
        parameters = msgspec.convert(options, Bm25Parameters)
        postings = inverted.open_postings(place)
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
    # A string of Python's, given to Arrow, would import pandas.
    blank = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b" ")]
    )[0]
    for batch in corpus.batches(["title", "text"]):
        title, text = batch.columns
        yield pc.binary_join_element_wise(*[title] * title_weight, text, blank, null_handling="replace")
