"""Exact top-k search by group maxima, in torch: on a CPU or any GPU.

The k best scores of a question lie in the k groups of passages with the best maxima. So only one
number a group is kept of the product, the k best groups are chosen by it, and the scores inside
those are computed again. The score matrix as a whole never exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from whichone.errors import BadInput, UsageError

if TYPE_CHECKING:
    import torch

GROUP = 64
QUESTIONS = 10_240
"""Questions searched at once: the maxima of 16 million passages for them take 10 GB."""

Method = Literal["auto", "torch", "triton"]


def exact_top_k(
    questions: torch.Tensor,
    passages: torch.Tensor,
    k: int,
    *,
    group: int = GROUP,
    method: Method = "auto",
    block: int = QUESTIONS,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and ordinals of the k passages with the largest dot product, best first.

    Products are summed in float32. Equal scores are in order of ordinals; which of several equal
    ones makes the k-th place is not said.
    """
    import torch

    _check(questions, passages, k)
    k = min(k, len(passages))
    use = _method(method, questions, passages, group)
    results = [_search(part, passages, k, group, use) for part in questions.split(block)]
    scores = torch.cat([s for s, _ in results])
    ordinals = torch.cat([o for _, o in results])
    return scores, ordinals


def _check(questions: torch.Tensor, passages: torch.Tensor, k: int) -> None:
    if k < 1:
        raise UsageError("k must be at least 1")
    if questions.ndim != 2 or passages.ndim != 2 or questions.shape[1] != passages.shape[1]:
        raise BadInput(
            f"vectors of the wrong size: questions {tuple(questions.shape)}, "
            f"passages {tuple(passages.shape)}"
        )
    if not len(passages):
        raise BadInput("there are no passages to search")
    if questions.isnan().any() or passages[:1].isnan().any():
        raise BadInput("a vector contains NaN")


def _method(method: Method, questions: torch.Tensor, passages: torch.Tensor, group: int) -> Method:
    import torch

    fits = (
        questions.is_cuda
        and questions.dtype == passages.dtype == torch.bfloat16
        and questions.shape[1] % 64 == 0
        and len(passages) >= 4 * group
    )
    if method == "triton" and not fits:
        raise UsageError(
            "the fused kernel needs bfloat16 vectors of a multiple of 64 numbers on a GPU"
        )
    if method != "auto":
        return method
    return "triton" if fits and torch.cuda.get_device_capability()[0] >= 9 else "torch"


def _search(
    questions: torch.Tensor, passages: torch.Tensor, k: int, group: int, method: Method
) -> tuple[torch.Tensor, torch.Tensor]:
    kernels: Any = None
    if method == "triton":
        from whichone.retrieval.dense import group_kernels as kernels
    maxima = (kernels.maxima if kernels else _maxima)(questions, passages, group)
    groups = _best_groups(maxima, k)
    inside = (kernels.inside if kernels else _inside)(questions, passages, groups, group)
    return _best_inside(inside, groups, k, group, len(passages))


def _maxima(questions: torch.Tensor, passages: torch.Tensor, group: int) -> torch.Tensor:
    """The best score of each question in each group, block by block."""
    import torch

    parts = []
    step = max(group, (1 << 26) // max(1, len(questions)) // group * group)
    for part in passages.split(step):
        scores = _product(questions, part)
        short = -len(part) % group
        if short:
            scores = torch.nn.functional.pad(scores, (0, short), value=float("-inf"))
        parts.append(scores.view(len(questions), -1, group).amax(2))
    return torch.cat(parts, 1)


def _product(questions: torch.Tensor, passages: torch.Tensor) -> torch.Tensor:
    """Scores in float32: rounded to half precision they would name other passages the best."""
    import torch

    if questions.is_cuda and questions.dtype != torch.float32:
        return torch.mm(questions, passages.T, out_dtype=torch.float32)
    return questions.float() @ passages.float().T


def _best_groups(maxima: torch.Tensor, k: int) -> torch.Tensor:
    """The k groups with the best maxima, ascending; found among maxima of maxima first."""
    import torch

    wide, count = 8, maxima.shape[1]
    if count < 4 * k * wide:
        return maxima.topk(min(k, count), sorted=False).indices.sort().values
    padded = torch.nn.functional.pad(maxima, (0, -count % wide), value=float("-inf"))
    nested = padded.view(len(maxima), -1, wide)
    outer = nested.amax(2).topk(k, sorted=False).indices
    inner = nested.gather(1, outer[:, :, None].expand(-1, -1, wide)).flatten(1)
    best = inner.topk(k, sorted=False).indices
    groups = outer.gather(1, best // wide) * wide + best % wide
    return groups.sort().values


def _inside(
    questions: torch.Tensor, passages: torch.Tensor, groups: torch.Tensor, group: int
) -> torch.Tensor:
    """The scores inside the chosen groups, as (question, group, place)."""
    import torch

    short = -len(passages) % group
    if short:
        passages = torch.nn.functional.pad(passages, (0, 0, 0, short))
    held = passages.view(-1, group, passages.shape[1])
    size = max(1, (1 << 25) // (groups.shape[1] * group * passages.shape[1]))
    parts = []
    for some, chosen in zip(questions.split(size), groups.split(size), strict=True):
        parts.append(torch.einsum("qd,qgpd->qgp", some.float(), held[chosen].float()))
    return torch.cat(parts)


def _best_inside(
    inside: torch.Tensor, groups: torch.Tensor, k: int, group: int, count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    place = torch.arange(group, device=groups.device)
    flat = inside.flatten(1)
    if count % group:
        ordinals = (groups[:, :, None] * group + place).flatten(1)
        flat = flat.masked_fill(ordinals >= count, float("-inf"))
    scores, at = flat.topk(k, sorted=False)
    at, order = at.sort(dim=1)  # groups ascend, so places ascend with ordinals
    scores, order = scores.gather(1, order).sort(dim=1, descending=True, stable=True)
    at = at.gather(1, order)
    ordinals = groups.gather(1, at // group) * group + at % group
    return scores, ordinals
