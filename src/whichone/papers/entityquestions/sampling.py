"""Drawing facts at random, the same ones on every machine and in whatever order they come."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def shuffled(items: Iterable[T], key: Callable[[T], str], seed: int, purpose: str) -> list[T]:
    """Items ordered by the hash of their key, which the seed and the purpose change.

    A knowledge base that grows leaves most of a sample as it was.
    """

    def place(item: T) -> tuple[bytes, str]:
        name = key(item)
        return hashlib.sha256(f"{seed}\x1f{purpose}\x1f{name}".encode()).digest(), name

    return sorted(items, key=place)
