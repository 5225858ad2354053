"""Checkpoints from which training goes on as if it had never stopped."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Protocol

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.output import may_overwrite

FILE = "checkpoint.pt"


class Learner(Protocol):
    """A model, or several that are one, whose weights change."""

    def parameters(self) -> list[Any]: ...

    def train(self) -> None: ...

    def eval(self) -> None: ...

    def state(self) -> dict[str, Any]:
        """The weights that change; what does not is as it was loaded."""
        ...

    def load_state(self, state: dict[str, Any]) -> None: ...

    def save(self, folder: Path) -> None:
        """As those who use the model read it."""
        ...


class OneModel:
    """A learner that is one torch module, all of which changes."""

    key: str
    """Its name in checkpoints."""
    model: Any

    def parameters(self) -> list[Any]:
        return list(self.model.parameters())

    def train(self) -> None:
        self.model.train()

    def eval(self) -> None:
        self.model.eval()

    def state(self) -> dict[str, Any]:
        return {self.key: self.model.state_dict()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state[self.key])


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


def training_folder(out: str | Path) -> Path:
    """The folder to train into; what contains something else is left alone."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise UsageError("this is a file, a folder is wanted", where=str(out))
    if (folder / "manifest.json").exists():
        raise UsageError(
            "this folder contains a benchmark, run or knowledge base",
            where=str(out),
            hint="name a new folder to train into, last",
        )
    if may_overwrite(folder):
        (folder / FILE).unlink(missing_ok=True)
    return folder


def save(
    folder: Path,
    identity: dict[str, Any],
    progress: Progress,
    model: Learner,
    optimizer: Any,
    scheduler: Any,
) -> None:
    """Everything that decides the next step, replaced atomically."""
    import torch

    state = {
        "identity": msgspec.json.encode(identity, order="sorted").decode(),
        "progress": msgspec.to_builtins(progress),
        "model": model.state(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    beside = folder / f".{FILE}.partial"
    torch.save(state, beside)
    beside.replace(folder / FILE)


def save_model(model: Learner, folder: Path) -> None:
    """The model in its own format; what was there before stays until the new one is whole."""
    beside, old = (
        folder.with_name(f".{folder.name}.partial"),
        folder.with_name(f".{folder.name}.old"),
    )
    if old.exists() and not folder.exists():  # killed between the two moves
        old.rename(folder)
    for left_over in (beside, old):
        shutil.rmtree(left_over, ignore_errors=True)
    model.save(beside)
    if folder.exists():
        folder.rename(old)
    beside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def load(
    folder: Path, identity: dict[str, Any], model: Learner, optimizer: Any, scheduler: Any
) -> Progress | None:
    """Go back to a checkpoint; None when there is none. One of another training is refused."""
    import torch

    path = folder / FILE
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BadInput(
            f"the checkpoint cannot be read: {str(error).splitlines()[0]}",
            file=path,
            hint="remove it to start over",
        ) from error
    _check_identity(folder, msgspec.json.decode(state["identity"]), identity)
    model.load_state(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["random_cuda"]:
        torch.cuda.set_rng_state_all(state["random_cuda"])
    return msgspec.convert(state["progress"], Progress)


def _check_identity(folder: Path, held: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Only the same training goes on: the same model, data and settings."""
    wanted = msgspec.json.decode(msgspec.json.encode(wanted))
    if isinstance(held.get("settings"), dict):
        held["settings"].pop("every", None)  # checkpoints of earlier versions have it
    other = [key for key in sorted({*held, *wanted}) if held.get(key) != wanted.get(key)]
    if "settings" in other:
        a, b = held.get("settings") or {}, wanted.get("settings") or {}
        changed = [
            f"{k} {a.get(k)}, now {b.get(k)}" for k in sorted({*a, *b}) if a.get(k) != b.get(k)
        ]
        other[other.index("settings")] = f"settings: {'; '.join(changed)}"
    if other:
        raise UsageError(
            f"another training was begun here ({', '.join(other)})",
            where=str(folder),
            hint="name another folder, or start over with --overwrite",
        )
