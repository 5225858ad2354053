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
        """Fail before any data is made where it is known that there is no such model."""
        for model_name in (self.checkpoint, self.passages, self.base):
            if model_name is not None:
                _check_place(place_of(model_name), model_name)

    def identity(self) -> dict[str, Any]:
        """The same for the same weights, wherever they lie."""
        identity = {"checkpoint": _identity(self.checkpoint)}
        if self.passages is not None:
            identity["passage_checkpoint"] = _identity(self.passages)
        return identity


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


def _check_place(place: str, given: str) -> None:
    if Path(place).is_file():
        return
    if Path(place).is_dir():
        parts = ("config.json", "modules.json", "questions/config.json")
        if not any((Path(place) / part).exists() for part in parts):
            raise Missing(
                "no model is in this folder",
                where=given,
                hint="a sentence-transformers, transformers or DPR folder has a config.json",
            )
        return
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        raise missing_extra("sentence-transformers", "train") from None
    names = (given, f"sentence-transformers/{given}") if "/" not in given else (given,)
    if not any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names):
        raise Missing(
            f"the model {given!r} is no folder, no installed package, and not among the models that"
            " were fetched to this machine",
            hint=f"name a folder that contains it, or fetch it first: hf download {names[-1]}",
        )


def _identity(checkpoint: str) -> str:
    place = Path(place_of(checkpoint))
    if place.is_file():
        return file_hash(place)[:16]
    parts = [weights_hash(place / part) for part in ("", "questions", "passages")]
    return "+".join(part for part in parts if part) or checkpoint
