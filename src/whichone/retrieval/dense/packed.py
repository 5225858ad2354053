"""Encoding at the pace of the device: texts tokenised ahead, sorted by length, cut by tokens.

A batch contains texts of nearly one length, so that hardly any padding is computed, and about one
number of tokens, so that the device is always full.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, UsageError

if TYPE_CHECKING:
    import torch

    from whichone.retrieval.dense.tokens import Tokeniser

Pool: TypeAlias = "Callable[[Any, torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]"

TOKENS = 1 << 18
_PARALLEL = "TOKENIZERS_PARALLELISM"
MULTIPLE = 8
"""Lengths are rounded up to it: attention with a mask wants rows of 16 bytes."""

Ints = npt.NDArray[np.int32]


class Tokenised:
    """Token numbers of many texts, one after the other, and where each begins.

    `firsts` has how many tokens of each belong to the first of its two texts, where texts are pairs.
    """

    def __init__(
        self,
        tokens: npt.NDArray[np.integer[Any]],
        starts: npt.NDArray[np.int64],
        firsts: Ints | None = None,
    ) -> None:
        self.tokens = tokens
        self.starts = starts
        self.firsts = firsts

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Any, longest: int) -> Tokenised:
        """Tokenise with a fast tokenizer, on all cores; special tokens included."""
        with _all_cores():
            rows = tokenizer(
                list(texts),
                truncation=True,
                max_length=longest,
                return_attention_mask=False,
                return_token_type_ids=False,
            )["input_ids"]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(r) for r in rows], out=starts[1:])
        tokens = np.fromiter((t for r in rows for t in r), np.int32, int(starts[-1]))
        return cls(tokens, starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.starts)


@contextlib.contextmanager
def _all_cores() -> Iterator[None]:
    """Let the tokenizer use them, whatever was said of it elsewhere."""
    before = os.environ.get(_PARALLEL)
    os.environ[_PARALLEL] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PARALLEL]
        else:
            os.environ[_PARALLEL] = before


def batches(
    lengths: npt.NDArray[np.int64], *, tokens: int = TOKENS, multiple: int = MULTIPLE
) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
    """Which texts go together, longest first, and the length they are padded to."""
    if tokens < multiple:
        raise UsageError(f"a batch needs room for at least {multiple} tokens")
    order = np.argsort(-lengths, kind="stable")
    at = 0
    while at < len(order):
        width = int(-(-max(1, lengths[order[at]]) // multiple) * multiple)
        rows = max(1, tokens // width)
        yield order[at : at + rows], width
        at += rows


def padded(held: Tokenised, rows: npt.NDArray[np.int64], width: int, pad: int) -> tuple[Ints, Ints]:
    """Token numbers of a batch as a rectangle, and the lengths of its rows."""
    lengths = held.lengths[rows].astype(np.int32)
    places = np.arange(width)
    inside = places < lengths[:, None]
    at = np.where(inside, held.starts[rows][:, None] + places, 0)
    return np.where(inside, held.tokens[at], np.int32(pad)).astype(np.int32, copy=False), lengths


def encode(
    model: Any,
    held: Tokenised,
    *,
    pad: int = 0,
    device: str = "cuda",
    tokens: int = TOKENS,
    pool: Pool | None = None,
) -> torch.Tensor:
    """Vectors in the precision of the model, in the order of the texts; mean-pooled and normalised by default."""
    import torch

    if not len(held):
        raise BadInput("there is nothing to encode")
    order, parts = [], []
    with torch.inference_mode():
        for rows, width in batches(held.lengths, tokens=tokens):
            ids, lengths = padded(held, rows, width, pad)
            firsts = None if held.firsts is None else _to(held.firsts[rows], device)
            parts.append((pool or _pooled)(model, _to(ids, device), _to(lengths, device), firsts))
            order.append(rows)  # put back at the end: doing it here would wait for the device
        back = np.argsort(np.concatenate(order))
        return torch.cat(parts)[torch.from_numpy(back).to(device)]


def _to(array: Ints, device: str) -> torch.Tensor:
    import torch

    tensor = torch.from_numpy(array)
    return (
        tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor
    )


def _pooled(
    model: Any, ids: torch.Tensor, lengths: torch.Tensor, firsts: torch.Tensor | None
) -> torch.Tensor:
    import torch

    mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    hidden = model(input_ids=ids, attention_mask=mask)[0]
    total = (hidden * mask[:, :, None]).sum(1)
    return torch.nn.functional.normalize(total / lengths[:, None], dim=1)


def first_normalised(
    model: Any, ids: torch.Tensor, lengths: torch.Tensor, firsts: torch.Tensor | None
) -> torch.Tensor:
    """The first token's last state, brought to length one."""
    import torch

    mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    hidden = model(input_ids=ids, attention_mask=mask)[0]
    return torch.nn.functional.normalize(hidden[:, 0], dim=1)


def first_states(
    model: Any, ids: torch.Tensor, lengths: torch.Tensor, firsts: torch.Tensor | None
) -> torch.Tensor:
    """What DPR takes: the first token's last state, or its projection."""
    import torch

    places = torch.arange(ids.shape[1], device=ids.device)
    kinds = None
    if firsts is not None:
        kinds = ((places >= firsts[:, None]) & (places < lengths[:, None])).long()
    mask = (places < lengths[:, None]).long()
    result: torch.Tensor = model(
        input_ids=ids, attention_mask=mask, token_type_ids=kinds
    ).pooler_output
    return result


class Fetched:
    """Vectors on their way from the device: it goes on with the next ones meanwhile."""

    def __init__(self, vectors: torch.Tensor) -> None:
        import torch

        self._event: Any = None
        self._here = vectors.float()
        if vectors.is_cuda:
            there = self._here
            self._here = torch.empty(there.shape, dtype=torch.float32, pin_memory=True)
            self._here.copy_(there, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()

    def result(self) -> npt.NDArray[np.float32]:
        if self._event is not None:
            self._event.synchronize()
        vectors: npt.NDArray[np.float32] = self._here.numpy()
        return vectors


class PackedModel:
    """A model that takes tokens made ahead, at the pace of its device."""

    def __init__(
        self, model: Any, tokeniser: Tokeniser, *, pad: int, device: str, pool: Pool | None = None
    ) -> None:
        self._model, self._pad, self._device, self._pool = model, pad, device, pool
        self.tokeniser = tokeniser

    def __call__(self, held: Tokenised) -> torch.Tensor:
        return encode(self._model, held, pad=self._pad, device=self._device, pool=self._pool)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of passages whose tokens nobody made ahead."""
        vectors: npt.NDArray[np.float32] = (
            self(self.tokeniser.tokenised(titles, texts)).float().cpu().numpy()
        )
        return vectors


def fast_rules(tokenizer: Any) -> str | None:
    """A fast tokenizer of transformers as the JSON of its rules; None for one in Python.

    How the last call cut and padded is kept in the tokenizer, and is none of its rules.
    """
    own = getattr(tokenizer, "backend_tokenizer", None)
    if own is None:
        return None
    rules = msgspec.json.decode(own.to_str())
    return msgspec.json.encode({**rules, "truncation": None, "padding": None}).decode()
