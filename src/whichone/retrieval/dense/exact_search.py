"""Exact top-k search by group maxima, in torch: on a CPU or any GPU.

The k best scores of a question lie in the k groups of passages with the best maxima. So only one
number a group is kept of the product, the k best groups are chosen by it, and the scores inside
those are computed again. The score matrix as a whole never exists.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch

from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.dense.vectors import Found, Shard, StoredVectors

GROUP = 64
QUESTIONS = 10_240  # Questions searched at once: the maxima of 16 million passages for them take 10 GB

_Method = Literal["auto", "torch", "triton"]


def exact_top_k(
    questions: torch.Tensor,
    passages: torch.Tensor,
    k: int,
    *,
    group: int = GROUP,
    method: _Method = "auto",
    block: int = QUESTIONS,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and ordinals of the k passages with the largest dot product, best first.

    Products are summed in float32. Equal scores are in order of ordinals; which of several equal
    ones makes the k-th place is not said.
    """
    _check(questions, passages, k)
    k = min(k, len(passages))
    use = _method(method, questions, passages, group)
    results = [_search(part, passages, k, group, use) for part in questions.split(block)]
    return torch.cat([s for s, _ in results]), torch.cat([o for _, o in results])


def _check(questions: torch.Tensor, passages: torch.Tensor, k: int) -> None:
    if k < 1:
        raise UsageError("k must be at least 1")
    if questions.ndim != 2 or passages.ndim != 2 or questions.shape[1] != passages.shape[1]:
        raise BadInput(
            f"vectors of the wrong size: questions {tuple(questions.shape)}, passages {tuple(passages.shape)}"
        )
    if not len(passages):
        raise BadInput("there are no passages to search")
    if questions.isnan().any() or passages[:1].isnan().any():
        raise BadInput("a vector contains NaN")


def _method(method: _Method, questions: torch.Tensor, passages: torch.Tensor, group: int) -> _Method:
    fits = (
        questions.is_cuda
        and questions.dtype == passages.dtype == torch.bfloat16
        and questions.shape[1] % 64 == 0
        and len(passages) >= 4 * group
    )
    if method == "triton" and not fits:
        raise UsageError("the fused kernel needs bfloat16 vectors of a multiple of 64 numbers on a GPU")
    if method != "auto":
        return method
    return "triton" if fits and torch.cuda.get_device_capability()[0] >= 9 else "torch"


def _search(
    questions: torch.Tensor, passages: torch.Tensor, k: int, group: int, method: _Method
) -> tuple[torch.Tensor, torch.Tensor]:
    kernels: Any = None
    if method == "triton":
        from whichone.retrieval.dense import group_kernels as kernels
    maxima = (kernels.maxima if kernels else _maxima)(questions, passages, group)
    groups = _best_groups(maxima, k)
    inside = (kernels.inside if kernels else _inside)(questions, passages, groups, group)
    return _best_inside(inside, groups, k, group, len(passages))


def _maxima(questions: torch.Tensor, passages: torch.Tensor, group: int) -> torch.Tensor:
    parts = []
    step = max(group, (1 << 26) // max(1, len(questions)) // group * group)
    for part in passages.split(step):
        scores = _product(questions, part)
        if short := -len(part) % group:
            scores = torch.nn.functional.pad(scores, (0, short), value=float("-inf"))
        parts.append(scores.view(len(questions), -1, group).amax(2))
    return torch.cat(parts, 1)


def _product(questions: torch.Tensor, passages: torch.Tensor) -> torch.Tensor:
    """Scores in float32: rounded to half precision they would name other passages the best."""
    if questions.is_cuda and questions.dtype != torch.float32:
        return torch.mm(questions, passages.T, out_dtype=torch.float32)
    return questions.float() @ passages.float().T


def _best_groups(maxima: torch.Tensor, k: int) -> torch.Tensor:
    """The k groups with the best maxima, ascending; found among maxima of maxima first."""
    wide, count = 8, maxima.shape[1]
    if count < 4 * k * wide:
        return maxima.topk(min(k, count), sorted=False).indices.sort().values
    padded = torch.nn.functional.pad(maxima, (0, -count % wide), value=float("-inf"))
    nested = padded.view(len(maxima), -1, wide)
    outer = nested.amax(2).topk(k, sorted=False).indices
    inner = nested.gather(1, outer[:, :, None].expand(-1, -1, wide)).flatten(1)
    best = inner.topk(k, sorted=False).indices
    return (outer.gather(1, best // wide) * wide + best % wide).sort().values


def _inside(
    questions: torch.Tensor, passages: torch.Tensor, groups: torch.Tensor, group: int
) -> torch.Tensor:
    if short := -len(passages) % group:
        passages = torch.nn.functional.pad(passages, (0, 0, 0, short))
    held = passages.view(-1, group, passages.shape[1])
    size = max(1, (1 << 25) // (groups.shape[1] * group * passages.shape[1]))
    parts = [
        torch.einsum("qd,qgpd->qgp", some.float(), held[chosen].float())
        for some, chosen in zip(questions.split(size), groups.split(size), strict=True)
    ]
    return torch.cat(parts)


def _best_inside(
    inside: torch.Tensor, groups: torch.Tensor, k: int, group: int, count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    place = torch.arange(group, device=groups.device)
    flat = inside.flatten(1)
    if count % group:
        flat = flat.masked_fill((groups[:, :, None] * group + place).flatten(1) >= count, float("-inf"))
    scores, at = flat.topk(k, sorted=False)
    at, order = at.sort(dim=1)  # groups ascend, so places ascend with ordinals
    scores, order = scores.gather(1, order).sort(dim=1, descending=True, stable=True)
    at = at.gather(1, order)
    return scores, groups.gather(1, at // group) * group + at % group


# Every question against every stored vector, in blocks that fit.


class TorchSearch:
    """With torch, on a CPU or an accelerator: all vectors resident there, or block by block where they do not fit."""

    def __init__(self, stored: StoredVectors, device: str, most: int | None = None) -> None:
        """`most` is how many bytes of vectors may be resident; by default four fifths of a GPU's free memory."""
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
        rows = sum(map(len, shards))
        held = torch.empty((rows, self._stored.size), dtype=self._kind, device=self._device)
        for shard in shards:
            at = shard.first - shards[0].first
            held[at : at + len(shard)] = torch.from_numpy(shard.read()).to(self._device, self._kind)
        return held

    def best(self, questions: Vectors, k: int) -> Found:
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
