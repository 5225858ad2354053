"""BM25 over the parts of an index as if they were one: common statistics, rows numbered through."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError, did_you_mean
from whichone.files.mapped import HashIndex, PathOf, hashes
from whichone.files.output import written_beside
from whichone.files.pools import cores_for, run_in_order
from whichone.retrieval.bm25 import Bm25, Bm25Parameters
from whichone.retrieval.bm25.analysis import Analyser, key_of
from whichone.retrieval.bm25.inverted import Postings
from whichone.retrieval.bm25.postings import length_norms, lucene_idf
from whichone.retrieval.bm25.ranking import Best, Scorer, top

# Which passages a search may return: not those removed, and only those a filter lets through.


Rows = npt.NDArray[np.int64]
_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class RowSelection:
    """Rows in ascending order; `allowed` is None where there is no filter."""

    removed: Rows = field(default_factory=lambda: _NOTHING)
    allowed: Rows | None = None

    @property
    def everything(self) -> bool:
        return self.allowed is None and not len(self.removed)

    def keeps(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """For each row whether it may be returned."""
        kept = ~_among(rows, self.removed)
        return kept if self.allowed is None else kept & _among(rows, self.allowed)


def _among(rows: Rows, listed: Rows) -> npt.NDArray[np.bool_]:
    if not len(listed):
        return np.zeros(len(rows), np.bool_)
    places = np.searchsorted(listed, rows)
    places[places == len(listed)] = 0
    return np.asarray(listed[places] == rows)


# BM25 over the parts of an index as if they were one: common statistics, rows numbered through.


Floats = npt.NDArray[np.float64]
Keys = tuple[int, ...]

# A term that weighs less is in all passages but a few: reading its list would change no order.
NEGLIGIBLE = 1e-3
MANY = 1_000
LOOKED_UP = 50_000  # Where a filter leaves no more passages than this, each of them is scored


class MappedLexical:
    """The postings of a BM25 index on disk, whose terms are known by their keys; `mean` replaces its own mean length where it is given."""

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
        return np.where(known, self._postings.frequencies.take(places).astype(np.int64), 0)

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
        pairs = zip(terms, wanted, self._postings.idf(terms).tolist(), strict=True)
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


PartLexical = MappedLexical | MemoryLexical


class Lexical:
    """All parts together."""

    def __init__(self, parts: Sequence[PartLexical], parameters: Bm25Parameters) -> None:
        self._parts = parts
        self.parameters = parameters
        self._analyser = Analyser(parameters.stemmer, parameters.stop_words)
        self._starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
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
        pairs = zip(keys, self.idf(keys), strict=True)
        return {key: counted[key] * value for key, value in pairs if value > NEGLIGIBLE}

    def idf(self, keys: Sequence[int]) -> list[float]:
        """What each term weighs; 0 for one that no passage has."""
        if not keys:
            return []
        frequencies = np.sum([part.frequencies(keys) for part in self._parts], axis=0)
        return np.where(frequencies > 0, lucene_idf(frequencies, len(self)), 0.0).tolist()

    def worth(self, name: str) -> float:
        """About what a name scores on a page that has it once; a page may never say its alias."""
        if not (keys := list(dict.fromkeys(self.keys(name)))):
            return 0.0
        frequencies = np.sum([part.frequencies(keys) for part in self._parts], axis=0)
        return float(lucene_idf(frequencies, len(self)).sum()) / (1 + self.parameters.k1)

    def best(self, text: str, k: int, selection: RowSelection) -> Best:
        """Rows and scores of the k best passages among those that are selected."""
        if not (weights := self.weights(text)):
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


# Which passages have a value in a field, on disk: what a filter is answered from.


FILES = ("field-hashes.npy", "field-rows.npy", "field-names.json")
Filter = Mapping[str, Any]
COLUMNS = ("entity", "page")  # Columns of a passage that a filter may name too
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[T ]00:00:00(?:\.0+)?")


class FieldIndex:
    """From a field and a value to rows; one passage may have several values in a field."""

    def __init__(self, names: frozenset[str], index: HashIndex) -> None:
        self.names = names
        self._index = index

    @classmethod
    def of(cls, corpus: Corpus) -> FieldIndex:
        """Read off a corpus, in memory."""
        names: set[str] = set()
        forms = list(_each_value(corpus, names))
        every = np.concatenate([np.zeros(0, np.uint64), *(keys for keys, _ in forms)])
        owner = np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in forms)])
        return cls(frozenset(names), HashIndex.of(every).pointing_at(owner))

    @classmethod
    def write(cls, corpus: Corpus, folder: Path) -> None:
        """The files for a corpus of any size, sorted on disk."""
        names: set[str] = set()
        HashIndex.write(folder, "field", _each_value(corpus, names))
        with written_beside(folder / FILES[2]) as beside:  # the last one: all are complete
            beside.write_text(json.dumps(sorted(names)))

    @classmethod
    def open(cls, file: PathOf) -> FieldIndex:
        return cls(frozenset(json.loads(file(FILES[2]).read_text())), HashIndex.open(file, "field"))

    def rows(self, name: str, values: Sequence[Any]) -> Rows:
        """The rows that have any of the values in a field, in ascending order."""
        results = [self._index.rows(_key(name, value)) for value in values]
        if len(results) == 1:  # in ascending order already
            return results[0]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *results]))


def filtered(wanted: Filter, parts: Sequence[FieldIndex], starts: Sequence[int]) -> Rows:
    """The rows of all parts that a filter lets through; several fields must all agree."""
    known = sorted({name for part in parts for name in part.names} | set(COLUMNS))
    result: Rows | None = None
    for name, values in _wanted(wanted):
        if name not in known:
            raise UsageError(f"no passage has a field {name!r} to filter by", hint=did_you_mean(name, known))
        rows = [p.rows(name, values) + s for p, s in zip(parts, starts, strict=True)]
        these = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        result = these if result is None else np.intersect1d(result, these, assume_unique=True)
    return np.zeros(0, np.int64) if result is None else result


def passes(wanted: Filter, record: Mapping[str, Any]) -> bool:
    """Whether one passage, with its columns and its fields, is let through."""
    (held,) = _values([record])
    values = set(held)
    return all(any((name, _text(v)) in values for v in listed) for name, listed in _wanted(wanted))


def _wanted(wanted: Filter) -> Iterator[tuple[str, list[Any]]]:
    """The fields of a filter, each with the values that it lets through."""
    if not isinstance(wanted, Mapping):
        raise UsageError(
            f"a filter is a mapping of fields to values, not {wanted!r:.60}",
            hint='write {"tenant": "acme", "year": [2023, 2024]}',
        )
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            raise UsageError(
                f"the filter's {name!r} is a mapping: {value!r:.60}",
                hint='write a value or a list of values: {"year": [2023, 2024]}',
            )
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        yield name, list(value) if several else [value]


def _each_value(corpus: Corpus, names: set[str]) -> Iterator[tuple[npt.NDArray[np.uint64], Rows]]:
    """In blocks, the hash of each field's value and its row; the names of fields go into `names`."""
    for keys, rows, known in run_in_order(_block_values, _blocks(corpus), cores_for(len(corpus))):
        names |= known
        yield keys, rows


def _blocks(corpus: Corpus) -> Iterator[tuple[int, pa.RecordBatch]]:
    first = 0
    for batch in corpus.batches(["fields", *COLUMNS]):
        yield first, batch
        first += batch.num_rows


def _block_values(block: tuple[int, pa.RecordBatch]) -> tuple[npt.NDArray[np.uint64], Rows, set[str]]:
    first, batch = block
    names: set[str] = set()
    texts, rows = [], []
    for row, values in enumerate(_values(batch.to_pylist()), first):
        for name, value in values:
            names.add(name)
            texts.append(_key(name, value))
            rows.append(row)
    return hashes(texts), np.array(rows, np.int64), names


def _values(records: Iterable[Mapping[str, Any]]) -> Iterator[list[tuple[str, str]]]:
    for record in records:
        values = [(name, str(record[name])) for name in COLUMNS if record.get(name) is not None]
        raw = record.get("fields")
        for name, value in (msgspec.json.decode(raw) if raw else {}).items():
            several = value if isinstance(value, list) else [value]
            values += [(name, _text(v)) for v in several if v is not None and not isinstance(v, dict)]
        yield values


def _text(value: Any) -> str:
    """A value as one text: 7, 7.0 and "7" are one value, and so are a day and its midnight."""
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()
    plain = msgspec.to_builtins(value, enc_hook=str)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    text = plain if isinstance(plain, str) else json.dumps(plain, default=str)
    return text[:10] if _MIDNIGHT.fullmatch(text) else text


def _key(name: str, value: Any) -> str:
    return f"{name}\x1f{_text(value)}"
