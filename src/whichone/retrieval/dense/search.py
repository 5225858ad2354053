"""Exact search: every question against every vector, block by block; ties by passage ordinal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from whichone.errors import Missing, missing_extra
from whichone.retrieval.bm25.scoring import top
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.dense.vectors import Shard, StoredVectors

if TYPE_CHECKING:
    import torch

Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


class NumpySearch:
    """On the CPU, one shard in memory at a time: vectors need not fit there."""

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


class TorchSearch:
    """With torch, on a CPU or an accelerator: all vectors resident there, or block by block where they do not fit."""

    def __init__(self, stored: StoredVectors, device: str, most: int | None = None) -> None:
        """`most` is how many bytes of vectors may be resident; by default four fifths of a GPU's free memory."""
        try:
            import torch
        except ImportError:
            raise missing_extra("torch", "dense") from None
        self._stored, self._device = stored, device
        try:
            self._kind = torch.float32 if torch.device(device).type == "cpu" else torch.bfloat16
            row = stored.size * self._kind.itemsize
            rows = max((_free(device) if most is None else most) // row, 1)
            self._blocks = list(_blocks(stored.shards, rows))
            self._resident = self._block(self._blocks[0]) if len(self._blocks) == 1 else None
        except (RuntimeError, AssertionError) as error:
            raise Missing(
                f"torch cannot use {device!r} here: {str(error).splitlines()[0]}",
                hint="-o search=numpy searches on the CPU",
            ) from error

    def _block(self, shards: Sequence[Shard]) -> torch.Tensor:
        import torch

        rows = sum(map(len, shards))
        held = torch.empty((rows, self._stored.size), dtype=self._kind, device=self._device)
        for shard in shards:
            at = shard.first - shards[0].first
            vectors = torch.from_numpy(shard.read())
            held[at : at + len(shard)] = vectors.to(self._device, self._kind)
        return held

    def best(self, questions: Vectors, k: int) -> Found:
        import torch

        from whichone.retrieval.dense.group_maxima import exact_top_k

        best: Found | None = None
        with torch.inference_mode():
            for shards in self._blocks:
                held = self._block(shards) if self._resident is None else self._resident
                asked = torch.from_numpy(np.ascontiguousarray(questions)).to(held)
                scores, ordinals = exact_top_k(asked, held, min(k, len(held)))
                rows = ordinals.cpu().numpy() + shards[0].first
                result = rows, scores.float().cpu().numpy()
                best = result if best is None else _merged(best, result, k)
                del held
        assert best is not None
        return best


def _free(device: str) -> int:
    """Bytes that vectors may take on a device; on a CPU a quarter of the machine's memory."""
    import torch

    if torch.device(device).type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * 4 // 5)
    if not hasattr(os, "sysconf"):
        return 1 << 32
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def _blocks(shards: Sequence[Shard], rows: int) -> Iterator[list[Shard]]:
    block: list[Shard] = []
    for shard in shards:
        if block and sum(map(len, block)) + len(shard) > rows:
            yield block
            block = []
        block.append(shard)
    yield block


def _merged(item: Found, other: Found, k: int) -> Found:
    """The best of both; ties by ordinal."""
    ordinals = np.concatenate([item[0], other[0]], axis=1)
    scores = np.concatenate([item[1], other[1]], axis=1)
    order = np.lexsort((ordinals, -scores), axis=1)[:, :k]
    return np.take_along_axis(ordinals, order, 1), np.take_along_axis(scores, order, 1)
