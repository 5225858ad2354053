"""Checkpoints from which training goes on as if it had never stopped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.errors import BadInput, UsageError

if TYPE_CHECKING:
    from whichone.training.towers import Towers

FILE = "checkpoint.pt"


class Progress(msgspec.Struct):
    """How far training has come."""

    epoch: int = 0
    step: int = 0
    """Steps done in this epoch."""
    total: int = 0
    best: float = -1.0
    best_epoch: int = -1
    losses: list[float] = []
    """Mean loss of each finished epoch."""
    running: float = 0.0
    held_out: list[float] = []


def save(
    folder: Path,
    identity: dict[str, Any],
    progress: Progress,
    towers: Towers,
    optimizer: Any,
    scheduler: Any,
) -> None:
    """Everything that decides the next step, replaced atomically."""
    import torch

    state = {
        "identity": msgspec.json.encode(identity, order="sorted").decode(),
        "progress": msgspec.to_builtins(progress),
        "towers": towers.state(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    beside = folder / f".{FILE}.{os.getpid()}"
    torch.save(state, beside)
    beside.replace(folder / FILE)


def load(
    folder: Path, identity: dict[str, Any], towers: Towers, optimizer: Any, scheduler: Any
) -> Progress | None:
    """Go back to a checkpoint; None when there is none. One of another training is refused."""
    import torch

    path = folder / FILE
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BadInput(f"the checkpoint cannot be read: {error}", file=path) from error
    if state["identity"] != msgspec.json.encode(identity, order="sorted").decode():
        raise UsageError(
            "a training with other data or settings was begun here",
            where=str(folder),
            hint="name another folder, or remove this one to start over",
        )
    towers.load_state(state["towers"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["random_cuda"]:
        torch.cuda.set_rng_state_all(state["random_cuda"])
    return msgspec.convert(state["progress"], Progress)
