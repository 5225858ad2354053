"""Seeded splits by name: all questions about one name are in one split."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

SHARES = (("train", 0.7), ("dev", 0.1), ("test", 0.2))


def split_names(names: Iterable[str], seed: int = 0) -> dict[str, str]:
    """The split of every name: 70 % train, 10 % dev, 20 % test, by a hash of seed and name."""
    order = sorted(set(names), key=lambda name: (_hash(seed, name), name))
    found: dict[str, str] = {}
    start, share = 0, 0.0
    for split, part in SHARES:
        share += part
        end = round(share * len(order))
        found.update((name, split) for name in order[start:end])
        start = end
    return found


def _hash(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()
