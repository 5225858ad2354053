"""Dense retrieval: passages by the closeness of their vectors to the question's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError, needs
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.dense.encoder import Encoder, Vectors, encoder_name, need_encoder
from whichone.retrieval.dense.vectors import (
    Found,
    Precision,
    StoredVectors,
    VectorSearcher,
    encode_corpus,
    exact_searcher,
    sample_rows,
)
from whichone.retrieval.indexes import CORPUS, adopt_folder, created, index_folder, open_index, opened

RECALL_QUESTIONS = 200
RECALL_WORDS = 12

Index = Literal["exact", "faiss-hnsw", "faiss-ivf", "faiss-sq8", "usearch"]


class DenseParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever.

    `encoder` is a folder, a model's name, an installed package, or "auto"; `passage_encoder` the other
    half of a DPR pair, and `base` the configuration and words of DPR's own checkpoints. `search` says
    where exact search runs: "numpy", or a torch device such as "cuda". `vectors` are files of
    passage vectors that others published; then no passage is encoded.
    """

    encoder: str = "auto"
    passage_encoder: str | None = None
    base: str | None = None
    precision: Precision = "float16"
    index: Index = "exact"
    device: str | None = None
    search: str = "numpy"
    vectors: str | None = None


class Dense:
    """Encodes questions and returns the passages whose vectors are closest."""

    name = "dense"
    Parameters = DenseParameters

    def __init__(
        self,
        encoder: Encoder,
        stored: StoredVectors,
        corpus: Corpus,
        searcher: VectorSearcher,
        described: dict[str, Any],
    ) -> None:
        if encoder.size != stored.size:
            raise UsageError(
                f"the encoder makes vectors of {encoder.size} numbers, the stored ones have {stored.size}",
                where=str(stored.folder.root),
            )
        self.encoder, self.corpus, self._stored = encoder, corpus, stored
        self._searcher, self._described = searcher, described

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, encoder: Encoder | str = "auto", **options: Any) -> Self:
        named = encoder if isinstance(encoder, str) else "given"
        wanted = msgspec.convert({"encoder": named, **options}, DenseParameters, strict=False)
        model = _encoder(wanted) if isinstance(encoder, str) else encoder
        return cls._made(corpus, work, model, named, wanted)

    @classmethod
    def build(
        cls,
        corpus: Corpus | Iterable[Passage],
        folder: Path,
        *,
        encoder: Encoder | str = "auto",
        **options: Any,
    ) -> Self:
        """Encode a corpus, or any passages, into a folder; killed and started again it goes on."""
        named = encoder if isinstance(encoder, str) else "given"
        wanted = msgspec.convert({"encoder": named, **options}, DenseParameters, strict=False)
        model = _encoder(wanted) if isinstance(encoder, str) else encoder
        kept = msgspec.to_builtins(wanted)
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            cls._made(held, place.partial, model, named, wanted)
            for part in sorted(place.partial.iterdir()):
                if (part / MANIFEST).exists() and part.name != CORPUS:
                    adopt_folder(place, part.name)
        return cls.open(folder, encoder=model)

    @classmethod
    def open(cls, folder: str | Path, *, encoder: Encoder | str | None = None, **options: Any) -> Self:
        place, corpus, kept = opened(folder, cls.name)
        given = {"encoder": encoder} if isinstance(encoder, str) else {}
        wanted = msgspec.convert({**kept, **given, **options}, DenseParameters, strict=False)
        known = encoder is None or isinstance(encoder, str)
        model = _encoder(wanted) if known else cast("Encoder", encoder)
        return cls._made(corpus, place.root, model, wanted.encoder, wanted)

    @classmethod
    def _made(cls, corpus: Corpus, work: Path, model: Encoder, named: str, wanted: DenseParameters) -> Self:
        if wanted.vectors is not None:
            from whichone.retrieval.dense.vectors import published_vectors

            stored = published_vectors(corpus, wanted.vectors, work)
        else:
            stored = encode_corpus(corpus, model, work, precision=wanted.precision)
        searcher = exact = exact_searcher(stored, wanted.search)
        given = {k: v for k, v in msgspec.to_builtins(wanted).items() if v is not None}
        described = {**given, "encoder": encoder_name(named, model), "model": model.describe()}
        if wanted.index != "exact":
            searcher, details = open_approximate(
                wanted.index, stored, work, lambda: (model.questions(sampled(corpus)), exact)
            )
            described["approximate"] = details
        return cls(model, stored, corpus, searcher, described)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "dense", **self._described}

    def vectors(self, rows: npt.NDArray[np.int64]) -> Vectors:
        return self._stored.read(rows)

    def best(self, questions: Vectors, k: int) -> Found:
        """Ordinals and scores of the k closest passages of each question vector."""
        return self._searcher.best(questions, k)

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        if not questions:
            return
        ordinals, scores = self.best(self.encoder.questions([question.text for question in questions]), k)
        for question, ordinals_found, values in zip(questions, ordinals, scores, strict=True):
            kept = [(i, s) for i, s in zip(ordinals_found.tolist(), values.tolist(), strict=True) if i >= 0]
            yield Ranking(
                question=question.id,
                passages=tuple(self.corpus.ids([i for i, _ in kept])),
                scores=tuple(s for _, s in kept),
            )


def sampled(corpus: Corpus) -> list[str]:
    """Opening words of passages spread over the corpus: what recall is measured with.

    Questions of a benchmark would tell an index what it will be asked.
    """
    texts = corpus.texts(sample_rows(len(corpus), RECALL_QUESTIONS))
    return [" ".join(text.split()[:RECALL_WORDS]) for text in texts]


def _encoder(wanted: DenseParameters) -> Encoder:
    if wanted.passage_encoder is None and wanted.base is None:
        return need_encoder(wanted.encoder, device=wanted.device)
    from whichone.retrieval.dense.dpr import open_dpr

    return open_dpr(wanted.encoder, wanted.passage_encoder, base=wanted.base, device=wanted.device)


# Approximate search by faiss or usearch, with its recall against exact search written beside it.


KIND = "approximate index"
DEPTH = 10

# Gives question vectors and the exact search to compare with; only called when an index is made.
_Sample = Callable[[], tuple[Vectors, Any]]


class FaissSearch:
    def __init__(self, path: Path) -> None:
        self._index = _faiss().read_index(str(path))

    @staticmethod
    def build(kind: str, stored: StoredVectors, path: Path) -> None:
        faiss = _faiss()
        index = faiss.index_factory(stored.size, _recipe(kind, len(stored)), faiss.METRIC_INNER_PRODUCT)
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
    kind: str, stored: StoredVectors, work: Path, sample: _Sample
) -> tuple[FaissSearch | UsearchSearch, dict[str, Any]]:
    """The index and what a run says of it: the library, and its recall against exact search."""
    maker = UsearchSearch if kind == "usearch" else FaissSearch
    identity = {"index": kind, "vectors": stored.folder.content_hash}
    place = index_folder(work, kind, identity)
    if (folder := open_index(place, KIND, identity)) is None:
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
    shared = [len(set(w) & set(f)) for w, f in zip(wanted.tolist(), neighbours.tolist(), strict=True)]
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
    with needs("faiss-cpu", "dense"):
        import faiss
    return faiss


def _usearch() -> Any:
    with needs("usearch", "dense"):
        import usearch.index
    return usearch.index
