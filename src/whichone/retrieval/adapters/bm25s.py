"""`bm25s`: the package bm25s with its own tokeniser, over a corpus or an index saved before."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.adapters.adapted import Adapted, Hit
from whichone.retrieval.indexes import index_folder
from whichone.text.language import base_code, stemmer_of, stop_words_of

_DONE = "finished"


class Bm25sIndex(Adapted):
    """Ranks by the package bm25s; whichone's own `bm25` is another program with its own tokens."""

    def __init__(
        self, corpus: Corpus, index: Any, given: dict[str, Any], *, ids: str = "passage"
    ) -> None:
        super().__init__(corpus, ids=ids)
        self._index, self._described = index, given

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        index: str | None = None,
        ids: str = "passage",
        k1: float = 1.5,
        b: float = 0.75,
        method: str = "lucene",
        stemmer: str = "",
        stop_words: str = "",
    ) -> Bm25sIndex:
        """Open the index saved with its corpus at `index`, or make one of the benchmark's passages."""
        english = base_code(corpus.language) == "en"
        read = {
            "stemmer": stemmer or ("english" if english else stemmer_of(corpus.language)),
            "stop_words": stop_words or ("english" if english else stop_words_of(corpus.language)),
        }
        if index is not None:
            return cls(corpus, _open(Path(index)), {"index": Path(index).name, **read}, ids=ids)
        options = {"k1": float(k1), "b": float(b), "method": method, **read}
        place = index_folder(work, "bm25s", {**options, "corpus": corpus.hash})
        if not (place / _DONE).exists():
            _build(corpus, place, options)
        return cls(corpus, _open(place), options, ids=ids)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "bm25s", **self._described, "ids": self.rule.text}

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        tokens = _tokens(texts, self._described)
        most = min(k, int(self._index.scores["num_docs"]))
        hits, scores = self._index.retrieve(tokens, k=most, show_progress=False, n_threads=0)
        return [
            [_hit(d, s) for d, s in zip(row, values, strict=True) if s > 0]
            for row, values in zip(hits, scores, strict=True)
        ]


def _hit(document: Any, score: float) -> Hit:
    if not isinstance(document, dict) or "id" not in document:
        raise BadInput(
            "the index was saved without documents that have an id",
            hint='save it with corpus=[{"id": ..., "text": ...}, ...]',
        )
    return Hit(str(document["id"]), float(score), document)


def _build(corpus: Corpus, place: Path, given: dict[str, Any]) -> None:
    import bm25s

    records = list(corpus.passage_records())
    if given["method"] not in ("lucene", "robertson", "atire", "bm25l", "bm25+"):
        raise UsageError(f"bm25s has no method {given['method']!r}")
    index = bm25s.BM25(k1=given["k1"], b=given["b"], method=given["method"])
    index.index(_tokens([f"{p.title} {p.text}" for p in records], given), show_progress=False)
    place.mkdir(parents=True, exist_ok=True)
    index.save(str(place), corpus=[{"id": p.id} for p in records], **_quiet(index.save))
    (place / _DONE).touch()


def _open(place: Path) -> Any:
    import bm25s

    if not place.is_dir():
        raise Missing("there is no such index", where=str(place), hint="save one with bm25s first")
    try:
        load = bm25s.BM25.load
        return load(str(place), load_corpus=True, mmap=True, **_quiet(load))
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"not an index of bm25s: {error}", file=place) from error


def _quiet(function: Any) -> dict[str, bool]:
    """Without a bar of its own, where the installed version can leave it out."""
    known = inspect.signature(function).parameters
    return {"show_progress": False} if "show_progress" in known else {}


def _tokens(texts: list[str], given: dict[str, Any]) -> Any:
    import bm25s
    import Stemmer

    stop_words = [] if given["stop_words"] == "none" else given["stop_words"]
    stemmer = None if given["stemmer"] == "none" else Stemmer.Stemmer(given["stemmer"])
    return bm25s.tokenize(
        texts, stopwords=stop_words, stemmer=stemmer, show_progress=False, return_ids=False
    )
