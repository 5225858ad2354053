"""What a reader's checkpoint began as, and how it was taught to read: `reading.json` beside its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput

FILE = "reading.json"


class Initialisation(msgspec.Struct, frozen=True):
    """The checkpoint that a training began with, by its own name, kind and size."""

    checkpoint: str
    model_type: str
    parameters: int
    weights: str = ""
    """The hash of its weights, where they were a folder."""

    def label(self) -> str:
        """As rows of tables name it: a small BART is never called by the large one's name."""
        return f"{self.checkpoint} {size(self.parameters)}"


class Taught(msgspec.Struct, frozen=True, kw_only=True):
    """How a model was shown its inputs in training; reading does the same unless asked otherwise."""

    initialisation: Initialisation
    context: str = ""
    """none, gold or retrieved passages before the question; empty: passages one by one."""
    depth: int = 0
    longest: int = 0
    """Tokens of the longest target."""
    prefix: str = ""


def size(parameters: int) -> str:
    millions = parameters / 1e6
    return f"{millions:.0f}M" if millions >= 10 else f"{millions:.2g}M"


def initialisation_of(place: str | Path, model: Any, weights: str = "") -> Initialisation:
    """What a model to be trained began as; what was trained before keeps its first name."""
    taught = read_taught(place)
    if taught is not None:
        return taught.initialisation
    return Initialisation(
        Path(place).name or str(place),
        str(getattr(model.config, "model_type", "")),
        sum(p.numel() for p in model.parameters()),
        weights,
    )


def read_taught(place: str | Path) -> Taught | None:
    """What a training wrote beside the weights; None for a checkpoint from elsewhere."""
    file = Path(place) / FILE
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=Taught)
    except msgspec.DecodeError as error:
        raise BadInput(f"not what a reader's training wrote: {error}", file=file) from error


def write_taught(place: Path, taught: Taught) -> None:
    (place / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(taught), indent=2) + b"\n")
