"""Passage vectors on disk: encoded shard by shard, resumed after a kill, opened memory-mapped."""

import io
import pickle
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, needs
from whichone.files.folder import Folder, file_hash
from whichone.files.lines import ODD_RECORD, read_bytes
from whichone.files.tables import group_batches
from whichone.progress import Advance, progress, talk
from whichone.retrieval.bm25.ranking import top
from whichone.retrieval.dense.encoder import Encoder, Vectors, checked, each_batch
from whichone.retrieval.dense.sentence import PendingVectors
from whichone.retrieval.indexes import check_corpus, index_folder, open_index

KIND = "passage vectors"
SHARD = 8_192

Precision = Literal["float16", "float32", "int8"]


@dataclass(frozen=True)
class Shard:
    """A stretch of the corpus: its first passage, vectors, and scales where they are int8."""

    first: int
    vectors: npt.NDArray[Any]
    scales: npt.NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.vectors)

    def read(self, rows: npt.NDArray[np.int64] | slice = slice(None)) -> Vectors:
        """Some or all vectors as they are multiplied: single precision, scales applied."""
        vectors: Vectors = np.asarray(self.vectors[rows], np.float32)
        return vectors if self.scales is None else vectors * self.scales[rows, None]


class StoredVectors:
    """All vectors of a corpus, in the order of its passages."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.size = int(folder.manifest.parameters["size"])
        self.shards = list(self._open())
        self._count = sum(map(len, self.shards))

    def __len__(self) -> int:
        return self._count

    def _open(self) -> Iterator[Shard]:
        first = 0
        for name in sorted(n for n in self.folder.manifest.files if n.startswith("vectors-")):
            vectors = np.load(self.folder.path(name), mmap_mode="r")
            if vectors.ndim != 2 or vectors.shape[1] != self.size:
                raise BadInput(
                    f"vectors of shape {vectors.shape}, where {self.size} columns are wanted",
                    file=self.folder.root / name,
                    hint="remove the folder: it is made again",
                )
            scales = name.replace("vectors-", "scales-")
            held = np.load(self.folder.path(scales)) if self.folder.has(scales) else None
            yield Shard(first, vectors, held)
            first += len(vectors)

    def read(self, rows: npt.NDArray[np.int64]) -> Vectors:
        vectors = np.empty((len(rows), self.size), np.float32)
        places = np.searchsorted([shard.first for shard in self.shards], rows, "right") - 1
        for place in np.unique(places):
            here, shard = places == place, self.shards[place]
            vectors[here] = shard.read(rows[here] - shard.first)
        return vectors


Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


class VectorSearcher(Protocol):
    def best(self, questions: Vectors, k: int) -> Found:
        """Ordinals and scores of the k closest passages of each question vector, ties by ordinal."""
        ...


class NumpySearch:
    """Every question against every vector on the CPU, one shard in memory at a time: vectors need not fit there."""

    def __init__(self, stored: StoredVectors) -> None:
        self._stored = stored

    def best(self, questions: Vectors, k: int) -> Found:
        k = min(k, len(self._stored))
        ordinals = np.full((len(questions), k), -1, np.int64)
        scores = np.full((len(questions), k), -np.inf, np.float32)
        for shard in self._stored.shards:
            here = questions @ shard.read().T
            for n in np.flatnonzero(here.max(1) > scores[:, -1]):
                better = np.flatnonzero(here[n] > scores[n, -1])  # an equal one comes later
                ordinals[n], scores[n] = top(
                    np.concatenate([ordinals[n], better + shard.first]),
                    np.concatenate([scores[n], here[n, better]]),
                    k,
                )
        return ordinals, scores


def exact_searcher(stored: StoredVectors, where: str) -> VectorSearcher:
    """`where` is "numpy" or a device of torch."""
    if where == "numpy":
        return NumpySearch(stored)
    with needs("torch", "dense"):
        from whichone.retrieval.dense.exact_search import TorchSearch
    return TorchSearch(stored, where)


def encode_corpus(
    corpus: Corpus, encoder: Encoder, work: Path, *, precision: Precision = "float16"
) -> StoredVectors:
    """The vectors of a corpus' passages: opened if they are there, else made or gone on with."""
    described = getattr(encoder, "describe_passages", encoder.describe)()
    identity = {**described, "precision": precision, "corpus": corpus.hash, "shard": SHARD}
    place = index_folder(work, "vectors", identity)
    if (folder := open_index(place, KIND, identity)) is None:
        _encode(corpus, encoder, place, identity, precision)
        folder = Folder.open(place, KIND)
    check_corpus(folder, corpus.hash)
    stored = StoredVectors(folder)
    if len(stored) != len(corpus):
        raise BadInput(
            f"{len(stored)} vectors for {len(corpus)} passages",
            file=place,
            hint="remove the folder: it is made again",
        )
    return stored


def _encode(
    corpus: Corpus, encoder: Encoder, place: Path, given: dict[str, Any], precision: Precision
) -> None:
    total = len(corpus)
    with Folder.create(place, KIND, resume=True) as folder:
        if folder.resumes(given) and list(folder.partial.glob("vectors-*.npy")):
            talk(f"going on with the vectors in {place}")
        with progress("encoding", total, "passages") as advance, ThreadPoolExecutor(1) as writer:
            writing: Future[None] | None = None  # beside the encoding of the next block
            for start, end, vectors in _blocks(corpus, encoder, folder.partial, advance):
                if writing is not None:
                    writing.result()
                writing = writer.submit(_keep, folder, start, end, vectors, precision)
            if writing is not None:
                writing.result()
        folder.commit(parameters=given, counts={"passages": total})


# The first passage and the one after the last, and their vectors where they were not there already.
_Block = tuple[int, int, Vectors | None]


def _blocks(corpus: Corpus, encoder: Encoder, folder: Path, advance: Advance) -> Iterator[_Block]:
    packed = getattr(encoder, "packed", None)
    if packed is not None and corpus.folder is not None and len(corpus) > SHARD:
        for block in _from_tokens(corpus, packed, encoder.size, folder):
            yield block
            advance(block[1] - block[0])
        return
    table = corpus.passages.select(["title", "text"])
    for start in range(0, len(corpus), SHARD):
        end = min(start + SHARD, len(corpus))
        if _complete(folder, start, end):
            yield start, end, None
            advance(end - start)
            continue
        rows = table.slice(start, SHARD)
        with each_batch(advance, end - start):
            vectors = encoder.passages(rows["title"].to_pylist(), rows["text"].to_pylist())
        yield start, end, vectors


def _from_tokens(corpus: Corpus, packed: Any, size: int, folder: Path) -> Iterator[_Block]:
    """All cores make the tokens, once for all models that share them; the device encodes those that are there."""
    from whichone.retrieval.dense.sentence import corpus_shards

    start = 0
    waiting: tuple[int, int, PendingVectors | None] | None = None
    for held in corpus_shards(corpus, packed.tokeniser):
        end = start + len(held)
        ready = waiting
        waiting = start, end, None if _complete(folder, start, end) else PendingVectors(packed(held))
        if ready is not None:  # fetched while the device has the next ones
            yield _fetched(ready, size)
        start = end
    if waiting is not None:
        yield _fetched(waiting, size)


def _fetched(block: tuple[int, int, PendingVectors | None], size: int) -> _Block:
    start, end, vectors = block
    if vectors is None:
        return start, end, None
    return start, end, checked(vectors.result(), end - start, size, "the encoder")


def _complete(folder: Path, start: int, end: int) -> bool:
    return all((folder / _name(n)).exists() for n in _numbers(start, end))


def _numbers(start: int, end: int) -> range:
    return range(start // SHARD, -(-end // SHARD))


def _name(number: int) -> str:
    return f"vectors-{number:05}.npy"


def _keep(folder: Folder, start: int, end: int, vectors: Vectors | None, precision: Precision) -> None:
    for number in _numbers(start, end):
        if vectors is not None:
            first = number * SHARD - start
            _save(folder.partial, number, vectors[first : first + SHARD], precision)
        folder.adopt(_name(number))
        if precision == "int8":
            folder.adopt(f"scales-{number:05}.npy")


def _save(partial: Path, number: int, vectors: Vectors, precision: Precision) -> None:
    """Scales first: a shard is there when its vectors are."""
    if precision == "int8":
        scales = np.abs(vectors).max(1) / 127
        safe = np.where(scales > 0, scales, 1).astype(np.float32)
        np.save(partial / f"scales-{number:05}.npy", safe)
        kept: npt.NDArray[Any] = np.rint(vectors / safe[:, None]).astype(np.int8)
    else:
        kept = vectors.astype(precision)
        if not np.isfinite(kept).all():
            raise BadInput(f"a vector does not fit into {precision}", hint="precision=float32")
    beside = partial / f".vectors-{number:05}.npy"
    np.save(beside, kept)
    beside.replace(partial / _name(number))


def sample_rows(count: int, most: int) -> Sequence[int]:
    return range(count) if count <= most else [n * count // most for n in range(most)]


# Passage vectors that others published: DPR's own pickles, Parquet (wiki_dpr), or `.npz` with ids, also int8 with scales.


PUBLISHED_SHARD = 65_536
_BLOCK = 8_192
_ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (
            ("multiarray", "_reconstruct"),
            ("multiarray", "scalar"),
            ("numeric", "_frombuffer"),
        )
    ),
}
PublishedBlock = tuple[list[str], npt.NDArray[np.float32]]


_LARGEST = 64 << 30


class _NumbersOnly(pickle.Unpickler):
    """Arrays, texts and lists; what would run code is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def published_vectors(corpus: Corpus, given: str, work: Path) -> StoredVectors:
    """The vectors of a corpus' passages out of files, found by the passages' own ids.

    `given` is a file or a pattern such as `wikipedia_passages_*.pkl`. Every passage needs one.
    """
    pattern = Path(given)
    files = [pattern] if pattern.is_file() else sorted(pattern.parent.glob(pattern.name))
    if not files:
        raise Missing("there are no files of passage vectors", where=given)
    parameters = {
        "published": [file_hash(file)[:16] for file in files],
        "precision": "float16",
        "corpus": corpus.hash,
    }
    place = index_folder(work, "vectors", parameters)
    known = {**parameters, "size": _size(files[0])}
    if (folder := open_index(place, KIND, known)) is None:
        _write(corpus, files, place, known)
        folder = Folder.open(place, KIND)
    check_corpus(folder, corpus.hash)
    return StoredVectors(folder)


def _write(corpus: Corpus, files: Sequence[Path], place: Path, known: dict[str, Any]) -> None:
    total, size = len(corpus), int(known["size"])
    seen = np.zeros(total, bool)
    with Folder.create(place, KIND) as folder, progress("loading", total, "vectors") as advance:
        names = [f"vectors-{n:05}.npy" for n in range(-(-total // PUBLISHED_SHARD))]
        shards = [
            np.lib.format.open_memmap(
                folder.partial / name,
                mode="w+",
                dtype=np.float16,
                shape=(min(PUBLISHED_SHARD, total - n * PUBLISHED_SHARD), size),
            )
            for n, name in enumerate(names)
        ]
        for file in files:
            for ids, vectors in _published_blocks(file):
                if vectors.ndim != 2 or vectors.shape[1] != size:
                    raise BadInput(f"vectors of other sizes than {size}", file=file)
                result = _rows(corpus, ids)
                for row, vector in zip(result, vectors, strict=True):
                    if row is not None:
                        shards[row // PUBLISHED_SHARD][row % PUBLISHED_SHARD] = vector
                        seen[row] = True
                advance(sum(row is not None for row in result))
        missing = np.flatnonzero(~seen)
        if len(missing):
            raise BadInput(
                f"{len(missing):,} of {total:,} passages have no vector in these files",
                file=files[0],
                ids=corpus.ids(missing[:3].tolist()),
                hint="are they of this corpus? their ids must be the passages' own, as in psgs_w100.tsv",
            )
        for shard, name in zip(shards, names, strict=True):
            shard.flush()
            folder.adopt(name)
        folder.commit(parameters=known, counts={"passages": total})


def _rows(corpus: Corpus, ids: Sequence[str]) -> list[int | None]:
    """By the ids of their own source, `wiki:12` also as 12; else by ours."""
    own: list[int | None] = [None] * len(ids)
    bare = [identity.rpartition(":")[2] for identity in ids]
    by_source = [(corpus.by_source_id, ids), (corpus.by_source_id, bare)] if corpus.has_source_ids else []
    for find, asked in (*by_source, (corpus.rows, ids)):
        if None in own:
            own = [a if a is not None else b for a, b in zip(own, find(asked), strict=True)]
    return own


def _size(file: Path) -> int:
    for _, vectors in _published_blocks(file):
        return int(vectors.shape[1])
    raise BadInput("there are no vectors in it", file=file)


def _published_blocks(file: Path) -> Iterator[PublishedBlock]:
    read = {".npz": _arrays, ".parquet": _parquet}.get(file.suffix, _pickled)
    try:
        for ids, vectors in read(file):
            if vectors.ndim != 2 or len(ids) != len(vectors):
                raise ValueError(f"{len(ids):,} ids, but vectors of the shape {vectors.shape}")
            yield ids, vectors
    except (*ODD_RECORD, pickle.UnpicklingError, zipfile.BadZipFile, pa.ArrowInvalid, EOFError) as error:
        raise BadInput(
            f"not passage vectors: {error}",
            file=file,
            hint="a pickled list of (id, vector), .parquet with id and embeddings, or .npz with ids and vectors",
        ) from error


def _arrays(file: Path) -> Iterator[PublishedBlock]:
    with np.load(file) as held:
        vectors = np.asarray(held["vectors"], np.float32)
        if "scales" in held:  # int8, one scale a passage
            vectors = vectors * np.asarray(held["scales"], np.float32)[:, None]
        yield [str(i) for i in held["ids"]], vectors


def _parquet(file: Path) -> Iterator[PublishedBlock]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as table:
        for batch in group_batches(table, _BLOCK, ["id", "embeddings"]):
            vectors = np.stack([np.asarray(v, np.float32) for v in batch["embeddings"].to_pylist()])
            yield [str(i) for i in batch["id"].to_pylist()], vectors


def _pickled(file: Path) -> Iterator[PublishedBlock]:
    """DPR's `generate_dense_embeddings.py`: a list of id and vector."""
    records: Iterable[Any] = _NumbersOnly(io.BytesIO(read_bytes(file, _LARGEST))).load()
    held = [(str(identity), np.asarray(vector, np.float32)) for identity, vector in records]
    for at in range(0, len(held), _BLOCK):
        part = held[at : at + _BLOCK]
        yield [identity for identity, _ in part], np.stack([vector for _, vector in part])
