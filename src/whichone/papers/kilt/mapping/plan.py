"""How a task is to be mapped."""

from __future__ import annotations

from typing import Literal

import msgspec

from whichone.papers.kilt.mapping.spans import THRESHOLD

Rules = Literal["paper", "published"]


class MapPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to map; dataset and split are recognised by a published file's name when not given."""

    dataset: str | None = None
    task: str | None = None
    split: str | None = None
    rules: Rules = "paper"
    tokenizer: str = "words"
    threshold: float = THRESHOLD
    on_error: str = "fail"
    old: str | None = None
    """The snapshot whose spans a KILT file without texts names."""
