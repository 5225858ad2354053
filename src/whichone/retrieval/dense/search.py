"""Exact search: every question against every vector, block by block; ties by passage ordinal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whichone.errors import Missing, missing_extra
from whichone.retrieval.bm25.scoring import top
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.dense.vectors import StoredVectors

Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


class NumpySearch:
    """On the CPU, one shard in memory at a time."""

    def __init__(self, stored: StoredVectors) -> None:
        self._stored = stored

    def best(self, questions: Vectors, k: int) -> Found:
        k = min(k, len(self._stored))
        ordinals = np.zeros((len(questions), 0), np.int64)
        scores = np.zeros((len(questions), 0), np.float32)
        for shard in self._stored.shards:
            here = questions @ shard.read().T
            numbers = np.arange(shard.first, shard.first + len(shard))
            kept = [
                top(
                    np.concatenate([ordinals[n], numbers]),
                    np.concatenate([scores[n], here[n]]),
                    k,
                )
                for n in range(len(questions))
            ]
            ordinals = np.array([o for o, _ in kept]).reshape(len(questions), -1)
            scores = np.array([s for _, s in kept], np.float32).reshape(len(questions), -1)
        return ordinals, scores


class TorchSearch:
    """With torch, on a CPU or an accelerator, all vectors resident there."""

    def __init__(self, stored: StoredVectors, device: str) -> None:
        try:
            import torch
        except ImportError:
            raise missing_extra("torch", "dense") from None
        try:
            kind = torch.float32 if torch.device(device).type == "cpu" else torch.bfloat16
            self._vectors = torch.empty((len(stored), stored.size), dtype=kind, device=device)
        except (RuntimeError, AssertionError) as error:
            raise Missing(
                f"torch cannot use {device!r} here: {str(error).splitlines()[0]}",
                hint="-o search=numpy searches on the CPU",
            ) from error
        for shard in stored.shards:
            block = torch.from_numpy(shard.read())
            self._vectors[shard.first : shard.first + len(shard)] = block.to(device, kind)

    def best(self, questions: Vectors, k: int) -> Found:
        import torch

        from whichone.retrieval.dense.group_maxima import exact_top_k

        with torch.inference_mode():
            asked = torch.from_numpy(np.ascontiguousarray(questions)).to(self._vectors)
            scores, ordinals = exact_top_k(asked, self._vectors, k)
        return ordinals.cpu().numpy(), scores.float().cpu().numpy()
