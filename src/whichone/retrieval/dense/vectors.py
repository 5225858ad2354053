"""Passage vectors on disk: encoded shard by shard, resumed after a kill, opened memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.progress import progress, talk
from whichone.retrieval.dense.encoder import Encoder, Vectors, checked
from whichone.retrieval.dense.packed import Fetched
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
        names = sorted(n for n in self.folder.manifest.files if n.startswith("vectors-"))
        for name in names:
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
        """The vectors of some passages."""
        vectors = np.empty((len(rows), self.size), np.float32)
        for shard in self.shards:
            here = (rows >= shard.first) & (rows < shard.first + len(shard))
            if here.any():
                vectors[here] = shard.read(rows[here] - shard.first)
        return vectors


def encode_corpus(
    corpus: Corpus, encoder: Encoder, work: Path, *, precision: Precision = "float16"
) -> StoredVectors:
    """The vectors of a corpus' passages: opened if they are there, else made or gone on with."""
    described = getattr(encoder, "describe_passages", encoder.describe)()
    identity = {**described, "precision": precision, "corpus": corpus.hash, "shard": SHARD}
    place = index_folder(work, "vectors", identity)
    folder = open_index(place, KIND, identity)
    if folder is None:
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
        entries = folder.journal.read()
        if not entries or entries[0] != msgspec.to_builtins(given):
            for file in folder.partial.iterdir():
                file.unlink()
            folder.journal.append(given)
        elif len(entries) == 1 and list(folder.partial.glob("vectors-*.npy")):
            talk(f"going on with the vectors in {place}")
        with progress("encoding", total, "passages") as advance, ThreadPoolExecutor(1) as writer:
            writing: Future[None] | None = None  # beside the encoding of the next block
            for start, end, vectors in _blocks(corpus, encoder, folder.partial):
                if writing is not None:
                    writing.result()
                writing = writer.submit(_keep, folder, start, end, vectors, precision)
                advance(end - start)
            if writing is not None:
                writing.result()
        folder.commit(parameters=given, counts={"passages": total})


Block = tuple[int, int, Vectors | None]
"""The first passage and the one after the last, and their vectors where they were not there already."""


def _blocks(corpus: Corpus, encoder: Encoder, folder: Path) -> Iterator[Block]:
    packed = getattr(encoder, "packed", None)
    if packed is not None and corpus.folder is not None and len(corpus) > SHARD:
        yield from _from_tokens(corpus, packed, encoder.size, folder)
        return
    table = corpus.passages.select(["title", "text"])
    for start in range(0, len(corpus), SHARD):
        end = min(start + SHARD, len(corpus))
        if _complete(folder, start, end):
            yield start, end, None
            continue
        rows = table.slice(start, SHARD)
        yield start, end, encoder.passages(rows["title"].to_pylist(), rows["text"].to_pylist())


def _from_tokens(corpus: Corpus, packed: Any, size: int, folder: Path) -> Iterator[Block]:
    """All cores make the tokens, once for all models that share them; the device encodes those that are there."""
    from whichone.retrieval.dense.tokens import corpus_shards

    start = 0
    waiting: tuple[int, int, Fetched | None] | None = None
    for held in corpus_shards(corpus, packed.tokeniser):
        end = start + len(held)
        ready = waiting
        waiting = start, end, None if _complete(folder, start, end) else Fetched(packed(held))
        if ready is not None:  # fetched while the device has the next ones
            yield _fetched(ready, size)
        start = end
    if waiting is not None:
        yield _fetched(waiting, size)


def _fetched(block: tuple[int, int, Fetched | None], size: int) -> Block:
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


def _keep(
    folder: Folder, start: int, end: int, vectors: Vectors | None, precision: Precision
) -> None:
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
    """Evenly spread places, always the same ones."""
    return range(count) if count <= most else [n * count // most for n in range(most)]
