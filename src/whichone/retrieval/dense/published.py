"""Passage vectors that others published: DPR's own pickles, Parquet (wiki_dpr), or `.npz` with ids, also int8 with scales."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing
from whichone.files.folder import Folder, file_hash
from whichone.files.tables import group_batches
from whichone.progress import progress
from whichone.retrieval.dense.vectors import KIND, StoredVectors
from whichone.retrieval.indexes import check_corpus, index_folder, open_index

SHARD = 65_536
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
Block = tuple[list[str], npt.NDArray[np.float32]]


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
    folder = open_index(place, KIND, known)
    if folder is None:
        _write(corpus, files, place, known)
        folder = Folder.open(place, KIND)
    check_corpus(folder, corpus.hash)
    return StoredVectors(folder)


def _write(corpus: Corpus, files: Sequence[Path], place: Path, known: dict[str, Any]) -> None:
    total, size = len(corpus), int(known["size"])
    seen = np.zeros(total, bool)
    with Folder.create(place, KIND) as folder, progress("loading", total, "vectors") as advance:
        names = [f"vectors-{n:05}.npy" for n in range(-(-total // SHARD))]
        shards = [
            np.lib.format.open_memmap(
                folder.partial / name,
                mode="w+",
                dtype=np.float16,
                shape=(min(SHARD, total - n * SHARD), size),
            )
            for n, name in enumerate(names)
        ]
        for file in files:
            for ids, vectors in _blocks(file):
                if vectors.ndim != 2 or vectors.shape[1] != size:
                    raise BadInput(f"vectors of other sizes than {size}", file=file)
                result = _rows(corpus, ids)
                for row, vector in zip(result, vectors, strict=True):
                    if row is not None:
                        shards[row // SHARD][row % SHARD] = vector
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
    if corpus.has_source_ids:
        own = corpus.by_source_id(ids)
    bare = [identity.rpartition(":")[2] for identity in ids]
    if corpus.has_source_ids and any(row is None for row in own):
        again = corpus.by_source_id(bare)
        own = [a if a is not None else b for a, b in zip(own, again, strict=True)]
    if any(row is None for row in own):
        ours = corpus.rows(ids)
        own = [a if a is not None else b for a, b in zip(own, ours, strict=True)]
    return own


def _size(file: Path) -> int:
    for _, vectors in _blocks(file):
        return int(vectors.shape[1])
    raise BadInput("there are no vectors in it", file=file)


def _blocks(file: Path) -> Iterator[Block]:
    if file.suffix == ".npz":
        with np.load(file) as held:
            vectors = np.asarray(held["vectors"], np.float32)
            if "scales" in held:  # int8, one scale a passage
                vectors = vectors * np.asarray(held["scales"], np.float32)[:, None]
            yield [str(i) for i in held["ids"]], vectors
    elif file.suffix == ".parquet":
        yield from _parquet(file)
    else:
        yield from _pickled(file)


def _parquet(file: Path) -> Iterator[Block]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as table:
        for batch in group_batches(table, _BLOCK, ["id", "embeddings"]):
            vectors = np.stack([np.asarray(v, np.float32) for v in batch["embeddings"].to_pylist()])
            yield [str(i) for i in batch["id"].to_pylist()], vectors


def _pickled(file: Path) -> Iterator[Block]:
    """DPR's `generate_dense_embeddings.py`: a list of id and vector."""
    try:
        records: Iterable[Any] = _NumbersOnly(io.BytesIO(file.read_bytes())).load()
        held = [(str(identity), np.asarray(vector, np.float32)) for identity, vector in records]
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise BadInput(
            f"not DPR's passage vectors: {error}", file=file,
            hint="a pickled list of (id, vector), .parquet with id and embeddings, or .npz with ids and vectors",
        ) from error  # fmt: skip
    for at in range(0, len(held), _BLOCK):
        part = held[at : at + _BLOCK]
        yield [identity for identity, _ in part], np.stack([vector for _, vector in part])
