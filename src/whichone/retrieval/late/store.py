"""Token vectors on disk: compressed, written shard by shard, gone on with after a kill, mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.progress import progress, talk
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.late.encoder import TokenEncoder

KIND = "token vectors"
SHARD = 2_048
_PARTS = ("lengths", "scales", "tokens")
"""In the order of writing: a shard is there when its tokens are."""

Precision = Literal["float16", "int8", "int4"]


def compress(vectors: Vectors, precision: Precision) -> tuple[npt.NDArray[Any], Vectors]:
    """Vectors as they are stored, and a scale for each: int8 and int4 keep the largest number exact."""
    largest = {"int8": 127, "int4": 7}.get(precision)
    if largest is None:
        return vectors.astype(np.float16), np.ones(len(vectors), np.float32)
    scales = np.abs(vectors).max(1, initial=0) / largest
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    whole = np.rint(vectors / scales[:, None]).astype(np.int8)
    if precision == "int8":
        return whole, scales
    if whole.shape[1] % 2:
        whole = np.pad(whole, ((0, 0), (0, 1)))
    shifted = (whole + 8).astype(np.uint8)
    return shifted[:, ::2] << 4 | shifted[:, 1::2], scales


def decompress(
    stored: npt.NDArray[Any], scales: Vectors, precision: Precision, size: int
) -> Vectors:
    """Vectors in single precision."""
    if precision == "int4":
        whole = np.empty((len(stored), 2 * stored.shape[1]), np.float32)
        whole[:, ::2] = stored >> 4
        whole[:, 1::2] = stored & 15
        vectors: Vectors = (whole[:, :size] - 8) * scales[:, None]
        return vectors
    return stored.astype(np.float32) * scales[:, None]


@dataclass(frozen=True)
class _Shard:
    starts: npt.NDArray[np.int64]
    scales: Vectors
    tokens: npt.NDArray[Any]


class StoredTokens:
    """The token vectors of all passages, in the order of the corpus."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.size = int(folder.manifest.parameters["size"])
        self.precision: Precision = folder.manifest.parameters["precision"]
        self._shards = list(self._open())
        self._count = sum(len(shard.starts) - 1 for shard in self._shards)

    def __len__(self) -> int:
        return self._count

    def _open(self) -> Iterator[_Shard]:
        for name in sorted(n for n in self.folder.manifest.files if n.startswith("tokens-")):
            lengths = np.load(self.folder.path(name.replace("tokens", "lengths")))
            scales = np.load(self.folder.path(name.replace("tokens", "scales")), mmap_mode="r")
            tokens = np.load(self.folder.path(name), mmap_mode="r")
            starts = np.concatenate([[0], np.cumsum(lengths)])
            if starts[-1] != len(tokens) or len(tokens) != len(scales):
                raise BadInput(
                    "lengths and tokens do not fit each other",
                    file=self.folder.root / name,
                    hint="remove the folder: it is made again",
                )
            yield _Shard(starts, scales, tokens)

    def read(self, row: int) -> Vectors:
        """The vectors of one passage."""
        shard = self._shards[row // SHARD]
        place = slice(*shard.starts[row % SHARD : row % SHARD + 2])
        return decompress(shard.tokens[place], shard.scales[place], self.precision, self.size)

    def read_all(self, rows: Sequence[int]) -> list[Vectors]:
        return [self.read(row) for row in rows]


def store_tokens(
    passages: pa.Table,
    encoder: TokenEncoder,
    place: Path,
    *,
    precision: Precision,
    corpus: str,
) -> StoredTokens:
    """Encode all passages; a killed encoding goes on with the next shard."""
    parameters = {
        **encoder.describe(),
        "precision": precision,
        "corpus": corpus,
        "shard": SHARD,
    }
    total = passages.num_rows
    with Folder.create(place, KIND, resume=True) as folder:
        entries = folder.journal.read()
        if not entries or entries[0] != msgspec.to_builtins(parameters):
            for file in folder.partial.iterdir():
                file.unlink()
            folder.journal.append(parameters)
        elif list(folder.partial.glob("tokens-*.npy")):
            talk(f"going on with the token vectors in {place}")
        count = 0
        with progress("encoding", total, "passages") as advance:
            for number, start in enumerate(range(0, total, SHARD)):
                rows = passages.slice(start, SHARD)
                if not (folder.partial / f"tokens-{number:05}.npy").exists():
                    texts = (rows["title"].to_pylist(), rows["text"].to_pylist())
                    _save(folder.partial, number, encoder.passages(*texts), precision)
                for part in _PARTS:
                    folder.adopt(f"{part}-{number:05}.npy")
                tokens = np.load(folder.partial / f"tokens-{number:05}.npy", mmap_mode="r")
                count += len(tokens)
                advance(rows.num_rows)
        folder.commit(parameters=parameters, counts={"passages": total, "tokens": count})
    return StoredTokens(Folder.open(place, KIND))


def _save(partial: Path, number: int, encoded: Sequence[Vectors], precision: Precision) -> None:
    tokens, scales = compress(np.concatenate(encoded), precision)
    lengths = np.array([len(vectors) for vectors in encoded], np.int64)
    arrays: list[npt.NDArray[Any]] = [lengths, scales, tokens]
    for part, array in zip(_PARTS, arrays, strict=True):
        beside = partial / f".{part}-{number:05}.npy"
        np.save(beside, array)
        beside.replace(partial / f"{part}-{number:05}.npy")
