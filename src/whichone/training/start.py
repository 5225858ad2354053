"""What a training starts from: a checkpoint, or a pair of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import Missing, missing_extra
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

    def check(self) -> None:
        """Fail before any data is made where it can be told that there is no such model."""
        for told in (self.checkpoint, self.passages, self.base):
            if told is not None:
                _check_place(place_of(told), told)

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


def _check_place(place: str, told: str) -> None:
    if Path(place).is_file():
        return
    if Path(place).is_dir():
        parts = ("config.json", "modules.json", "questions/config.json")
        if not any((Path(place) / part).exists() for part in parts):
            raise Missing(
                "no model lies in this folder",
                where=told,
                hint="a sentence-transformers, transformers or DPR folder has a config.json",
            )
        return
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        raise missing_extra("sentence-transformers", "train") from None
    names = (told, f"sentence-transformers/{told}") if "/" not in told else (told,)
    if not any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names):
        raise Missing(
            f"the model {told!r} is no folder, no installed package, and not among the models that"
            " were fetched to this machine",
            hint=f"name a folder that holds it, or fetch it first: hf download {names[-1]}",
        )


def _identity(checkpoint: str) -> str:
    place = Path(place_of(checkpoint))
    if place.is_file():
        return file_hash(place)[:16]
    parts = [weights_hash(place / part) for part in ("", "questions", "passages")]
    return "+".join(part for part in parts if part) or checkpoint
