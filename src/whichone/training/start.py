"""What a training starts from: a checkpoint, or a pair of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import Missing
from whichone.files.folder import file_hash
from whichone.retrieval.dense.encoder import package_folder, weights_hash


class Start(msgspec.Struct, frozen=True):
    """`checkpoint` is a folder, an installed package, a model's name, or a file of DPR's own.

    `passages` is the passage encoder where it is another one; `base` the folder of the BERT that a
    file of DPR's own belongs to (config.json, vocab.txt).
    """

    checkpoint: str
    passages: str | None = None
    base: str | None = None

    def identity(self) -> dict[str, Any]:
        """The same for the same weights, wherever they lie."""
        told = {"checkpoint": _identity(self.checkpoint)}
        if self.passages is not None:
            told["passage_checkpoint"] = _identity(self.passages)
        return told


def place_of(checkpoint: str) -> str:
    """The folder or file that is meant; a name that is neither is left to the hub's own cache."""
    if Path(checkpoint).exists():
        return checkpoint
    packaged = package_folder(checkpoint)
    if packaged is not None:
        return str(packaged)
    if checkpoint.startswith(("/", "./", "../", "~")):
        raise Missing("there is no such folder or file", where=checkpoint)
    return checkpoint


def _identity(checkpoint: str) -> str:
    place = Path(place_of(checkpoint))
    if place.is_file():
        return file_hash(place)[:16]
    parts = [weights_hash(place / part) for part in ("", "questions", "passages")]
    return "+".join(part for part in parts if part) or checkpoint
