"""BM25 over the parts of an index as if they were one: common statistics, rows numbered through."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from whichone.retrieval.bm25 import Bm25, Bm25Parameters
from whichone.retrieval.bm25.analysis import Analyser, key_of
from whichone.retrieval.bm25.index import Postings
from whichone.retrieval.bm25.scoring import Best, Scorer, top
from whichone.retrieval.bm25.weights import length_norms, lucene_idf
from whichone.retrieval.namesake.selection import Selection

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Keys = tuple[int, ...]

NEGLIGIBLE = 1e-3
"""A term that weighs less is in all passages but a few: reading its list would change no order."""
MANY = 1_000
LOOKED_UP = 50_000
"""Where a filter leaves no more passages than this, each of them is scored."""


class PartLexical(Protocol):
    """One part's postings; terms are known by their keys."""

    def __len__(self) -> int: ...

    def words(self) -> int:
        """How many terms all its passages have together."""
        ...

    def frequencies(self, keys: Sequence[int]) -> npt.NDArray[np.int64]: ...

    def best(self, weights: Mapping[int, float], k: int) -> Best: ...

    def of(self, weights: Mapping[int, float], rows: Rows) -> Floats: ...


class MappedLexical:
    """The postings of a BM25 index on disk; `mean` replaces its own mean length where it is given."""

    def __init__(self, bm25: Bm25, mean: float | None = None) -> None:
        assert isinstance(bm25.scorer.postings, Postings)
        self._postings = bm25.scorer.postings
        self._scorer = bm25.scorer
        if mean is not None:
            k1, b = bm25.parameters.k1, bm25.parameters.b
            lengths = self._postings.lengths
            rise = max(mean / (float(lengths.mean()) or mean), 1.0) if len(lengths) else 1.0
            norms = length_norms(lengths, mean, k1, b)
            self._postings = dataclasses.replace(self._postings, norms=norms, rise=rise)
            self._scorer = Scorer(self._postings)

    def __len__(self) -> int:
        return len(self._postings)

    def words(self) -> int:
        return int(self._postings.lengths.sum(dtype=np.int64))

    def frequencies(self, keys: Sequence[int]) -> npt.NDArray[np.int64]:
        places, known = self._places(keys)
        if not known.any():
            return np.zeros(len(keys), np.int64)
        result = self._postings.frequencies.take(places).astype(np.int64)
        return np.where(known, result, 0)

    def best(self, weights: Mapping[int, float], k: int) -> Best:
        return self._scorer.best_weighted(self._repeats(weights), k)

    def of(self, weights: Mapping[int, float], rows: Rows) -> Floats:
        scorer = self._scorer if len(rows) < MANY else self._wide
        return scorer.of_weighted(self._repeats(weights), rows).astype(np.float64)

    @functools.cached_property
    def _wide(self) -> Scorer:
        """For many passages at once: reads each block of a list once, not once a passage."""
        return Scorer(self._postings, backend="numpy")

    def _repeats(self, weights: Mapping[int, float]) -> dict[int, float]:
        """By term number; the scorer multiplies by the part's own idf, so that is taken out here."""
        keys = list(weights)
        places, known = self._places(keys)
        terms = [int(place) for place, there in zip(places, known, strict=True) if there]
        if not terms:
            return {}
        wanted = [weights[key] for key, there in zip(keys, known, strict=True) if there]
        own = self._postings.idf(terms)
        pairs = zip(terms, wanted, own.tolist(), strict=True)
        return {term: weight / idf for term, weight, idf in pairs if idf > 0 and weight > 0}

    def _places(self, keys: Sequence[int]) -> tuple[Rows, npt.NDArray[np.bool_]]:
        every = self._postings.keys
        if not len(every):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        sought = np.array(keys, np.uint64)
        places = np.searchsorted(every, sought)
        places[places == len(every)] = 0
        return places, every[places] == sought


class MemoryLexical:
    """The postings of a few passages in memory: those added since an index was last folded."""

    def __init__(self, terms: Sequence[Keys], parameters: Bm25Parameters, mean: float) -> None:
        lengths = np.array([len(keys) for keys in terms], np.int32)
        self._norms = length_norms(lengths, mean, parameters.k1, parameters.b)
        self._words = int(lengths.sum())
        self._lists: dict[int, tuple[list[int], list[int]]] = {}
        for row, keys in enumerate(terms):
            for key, count in Counter(keys).items():
                rows, counts = self._lists.setdefault(key, ([], []))
                rows.append(row)
                counts.append(count)

    def __len__(self) -> int:
        return len(self._norms)

    def words(self) -> int:
        return self._words

    def frequencies(self, keys: Sequence[int]) -> npt.NDArray[np.int64]:
        return np.array([len(self._lists.get(key, ((),))[0]) for key in keys], np.int64)

    def best(self, weights: Mapping[int, float], k: int) -> Best:
        scores = self._scores(weights)
        rows = np.flatnonzero(scores)
        return top(rows.astype(np.int64), scores[rows].astype(np.float32), k)

    def of(self, weights: Mapping[int, float], rows: Rows) -> Floats:
        return self._scores(weights)[rows]

    def _scores(self, weights: Mapping[int, float]) -> Floats:
        scores = np.zeros(len(self._norms))
        for key, weight in weights.items():
            if key in self._lists:
                rows, counts = self._lists[key]
                times = np.array(counts, np.float64)
                scores[rows] += weight * times / (times + self._norms[rows])
        return scores


class Lexical:
    """All parts together."""

    def __init__(self, parts: Sequence[PartLexical], parameters: Bm25Parameters) -> None:
        self._parts = parts
        self.parameters = parameters
        self._analyser = Analyser(parameters.stemmer, parameters.stop_words)
        sizes = [len(part) for part in parts]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.weights = functools.lru_cache(64)(self._weights)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def keys(self, text: str) -> Keys:
        """The keys of a text's terms, in its order."""
        return tuple(key_of(term) for term in self._analyser.terms(text))

    def _weights(self, text: str) -> Mapping[int, float]:
        """Each known term's idf over all parts, times how often the text has it."""
        counted = Counter(self.keys(text))
        keys = list(counted)
        idf = self.idf(keys)
        pairs = zip(keys, idf, strict=True)
        return {key: counted[key] * value for key, value in pairs if value > NEGLIGIBLE}

    def idf(self, keys: Sequence[int]) -> list[float]:
        """What each term weighs; 0 for one that no passage has."""
        if not keys:
            return []
        frequencies = np.sum([part.frequencies(keys) for part in self._parts], axis=0)
        values = lucene_idf(frequencies, len(self))
        results: list[float] = np.where(frequencies > 0, values, 0.0).tolist()
        return results

    def worth(self, name: str) -> float:
        """About what a name scores on a page that has it once; a page may never say its alias."""
        keys = list(dict.fromkeys(self.keys(name)))
        if not keys:
            return 0.0
        frequencies = np.sum([part.frequencies(keys) for part in self._parts], axis=0)
        return float(lucene_idf(frequencies, len(self)).sum()) / (1 + self.parameters.k1)

    def best(self, text: str, k: int, selection: Selection) -> Best:
        """Rows and scores of the k best passages among those that are selected."""
        weights = self.weights(text)
        if not weights:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if selection.allowed is not None and len(selection.allowed) <= LOOKED_UP:
            rows = selection.allowed[selection.keeps(selection.allowed)]
            scores = self._of(weights, rows).astype(np.float32)
            some = scores > 0
            return top(rows[some], scores[some], k)
        wanted = k + min(len(selection.removed), k)
        while True:
            rows, scores = self._best(weights, wanted)
            kept = selection.keeps(rows)
            if kept.sum() >= k or len(rows) < wanted:
                return rows[kept][:k], scores[kept][:k]
            wanted *= 4

    def _best(self, weights: Mapping[int, float], k: int) -> Best:
        results = [part.best(weights, k) for part in self._parts]
        if len(results) == 1:
            return results[0]
        rows = [rows + start for (rows, _), start in zip(results, self._starts, strict=False)]
        return top(np.concatenate(rows), np.concatenate([scores for _, scores in results]), k)

    def of(self, text: str, rows: Rows) -> Floats:
        """The scores of some passages."""
        return self._of(self.weights(text), rows)

    def _of(self, weights: Mapping[int, float], rows: Rows) -> Floats:
        scores = np.zeros(len(rows))
        if not weights or not len(rows):
            return scores
        if len(self._parts) == 1:
            return self._parts[0].of(weights, rows)
        part = np.searchsorted(self._starts, rows, "right") - 1
        for number, lexical in enumerate(self._parts):
            here = np.flatnonzero(part == number)
            if len(here):
                scores[here] = lexical.of(weights, rows[here] - self._starts[number])
        return scores
