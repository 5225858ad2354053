"""Approximate search by faiss or usearch, with its recall against exact search written beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from whichone.errors import missing_extra
from whichone.files.folder import Folder
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.dense.search import Found
from whichone.retrieval.dense.vectors import StoredVectors
from whichone.retrieval.indexes import index_folder, open_index

KIND = "approximate index"
DEPTH = 10

Sample = Callable[[], tuple[Vectors, Any]]
"""Gives question vectors and the exact search to compare with; only called when an index is made."""


class FaissSearch:
    """An index of faiss, searched by inner product."""

    def __init__(self, path: Path) -> None:
        self._index = _faiss().read_index(str(path))

    @staticmethod
    def build(kind: str, stored: StoredVectors, path: Path) -> None:
        faiss = _faiss()
        index = faiss.index_factory(
            stored.size, _recipe(kind, len(stored)), faiss.METRIC_INNER_PRODUCT
        )
        if not index.is_trained:
            index.train(np.concatenate([s.read() for s in stored.shards[:64]]))
        for shard in stored.shards:
            index.add(shard.read())
        faiss.write_index(index, str(path))

    def best(self, questions: Vectors, k: int) -> Found:
        if hasattr(self._index, "hnsw"):
            self._index.hnsw.efSearch = max(64, 2 * k)
        elif hasattr(self._index, "nprobe"):
            self._index.nprobe = max(1, self._index.nlist // 16)
        scores, ordinals = self._index.search(np.ascontiguousarray(questions), k)
        return in_rows(ordinals, scores)


class UsearchSearch:
    """A graph of usearch, mapped from its file."""

    def __init__(self, path: Path) -> None:
        self._index = _usearch().Index.restore(str(path), view=True)

    @staticmethod
    def build(kind: str, stored: StoredVectors, path: Path) -> None:
        index = _usearch().Index(ndim=stored.size, metric="ip", dtype="f16")
        for shard in stored.shards:
            index.add(np.arange(shard.first, shard.first + len(shard)), shard.read(), threads=1)
        index.save(str(path))

    def best(self, questions: Vectors, k: int) -> Found:
        matches = self._index.search(questions, k, exact=False)
        keys = np.atleast_2d(np.asarray(matches.keys)).astype(np.int64)
        distances = np.atleast_2d(np.asarray(matches.distances, np.float32))
        counts = np.atleast_1d(np.asarray(getattr(matches, "counts", keys.shape[1])))
        missing = np.arange(keys.shape[1])[None] >= counts[:, None]
        return in_rows(np.where(missing, -1, keys), np.where(missing, -np.inf, 1 - distances))


def open_approximate(
    kind: str, stored: StoredVectors, work: Path, sample: Sample
) -> tuple[FaissSearch | UsearchSearch, dict[str, Any]]:
    """The index and what a run says of it: the library, and its recall against exact search."""
    maker = UsearchSearch if kind == "usearch" else FaissSearch
    identity = {"index": kind, "vectors": stored.folder.content_hash}
    place = index_folder(work, kind, identity)
    folder = open_index(place, KIND, identity)
    if folder is None:
        with Folder.create(place, KIND) as folders:
            maker.build(kind, stored, folders.partial / "index.bin")
            recall = recall_against(maker(folders.partial / "index.bin"), *sample())
            folders.adopt("index.bin")
            folders.commit(parameters=identity, counts={"recall": recall})
        folder = Folder.open(place, KIND)
    details = {f"recall@{DEPTH}_against_exact": folder.manifest.counts["recall"]}
    return maker(folder.path("index.bin")), details


def recall_against(approximate: Any, questions: Vectors, exact: Any) -> float:
    """The share of the exact first ten that the approximate first ten hold."""
    wanted, _ = exact.best(questions, DEPTH)
    neighbours, _ = approximate.best(questions, DEPTH)
    shared = [
        len(set(w) & set(f)) for w, f in zip(wanted.tolist(), neighbours.tolist(), strict=True)
    ]
    return float(round(sum(shared) / max(1, len(wanted) * wanted.shape[1]), 4))


def in_rows(ordinals: Any, scores: Any) -> Found:
    """Rows by score, ties by ordinal; places that found nothing hold -1."""
    order = np.lexsort((ordinals, -scores), axis=1)
    return (
        np.take_along_axis(np.asarray(ordinals, np.int64), order, 1),
        np.take_along_axis(np.asarray(scores, np.float32), order, 1),
    )


def _recipe(kind: str, count: int) -> str:
    """What faiss calls the index; as many inverted lists as its authors advise."""
    if kind == "faiss-ivf":
        return f"IVF{max(1, min(round(4 * count**0.5), count // 39))},Flat"
    return {"faiss-hnsw": "HNSW32", "faiss-sq8": "SQ8"}[kind]


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise missing_extra("faiss-cpu", "dense") from None
    return faiss


def _usearch() -> Any:
    try:
        import usearch.index
    except ImportError:
        raise missing_extra("usearch", "dense") from None
    return usearch.index
