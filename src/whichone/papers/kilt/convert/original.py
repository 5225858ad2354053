"""What all converters share: where the files are, what was left out, and how ids are made."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.papers.kilt.mapping.evidence import Evidence

_SPACE = uuid.UUID("5e4a1c5c-9d1b-4a8e-8c8e-5f1f2f0d9b11")


Names = Callable[[set[str]], tuple[Mapping[str, str], Mapping[str, Sequence[str]]]]
"""Labels and aliases of Wikidata ids."""


class Original(msgspec.Struct, kw_only=True):
    """The files of one dataset; `left_out` counts what a converter does not use, by reason."""

    files: Sequence[Path]
    extra: Sequence[Path] = ()
    """FEVER: its Wikipedia pages. WNED: the folder of raw texts."""
    split: str = "dev"
    seed: int = 0
    options: dict[str, int] = {}
    names: Names | None = None
    near: Path | None = None
    """What is about to be written: files that a converter needs for a while are on the same disk."""
    left_out: Counter[str] = msgspec.field(default_factory=Counter)


def made_id(*parts: str) -> str:
    """An id for a record whose original has none: the same parts give the same id."""
    return str(uuid.uuid5(_SPACE, "\0".join(parts)))


def sentence(title: str | None, text: str, **meta: Any) -> Evidence:
    """A piece of evidence, with what only its dataset knows in `meta`."""
    return Evidence(title, text, None, {"meta": meta} if meta else {})
