"""Several datasets learned at once as in KILT: a batch is of one of them, and they take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np


class HasSource(Protocol):
    @property
    def source(self) -> str: ...


E = TypeVar("E", bound=HasSource)


def by_source(examples: Sequence[E]) -> dict[str, list[E]]:
    found: dict[str, list[E]] = {}
    for example in examples:
        found.setdefault(example.source, []).append(example)
    return dict(sorted(found.items()))


def round_robin(
    examples: Sequence[E], batch: int, per_source: int, seed: int, epoch: int
) -> list[list[E]]:
    """The batches of an epoch: `per_source` examples of each dataset, drawn anew by seed and epoch.

    A dataset with fewer is drawn from more than once, each of its examples about equally often.
    """
    turns = []
    for place, held in enumerate(by_source(examples).values()):
        generator = np.random.default_rng([seed, epoch, place])
        rounds = -(-per_source // len(held))
        drawn = np.concatenate([generator.permutation(len(held)) for _ in range(rounds)])
        chosen = [held[i] for i in drawn[:per_source]]
        turns.append([chosen[at : at + batch] for at in range(0, per_source - batch + 1, batch)])
    return [one for turn in zip(*turns, strict=True) for one in turn]
