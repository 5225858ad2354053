"""`whichone train retriever` and `reranker`: from data and a checkpoint to a model that tells namesakes apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import UsageError
from whichone.files.lines import write_atomic
from whichone.training.bi_encoder import BiEncoderTraining
from whichone.training.checkpoints import training_folder
from whichone.training.cross_encoder import CrossEncoderTraining
from whichone.training.data import Plan, TrainingData, training_data
from whichone.training.devices import chosen_device, quiet_libraries
from whichone.training.examples import Example, write_examples
from whichone.training.late import LateTraining
from whichone.training.loop import Trained, Training
from whichone.training.per_relation import train_per_relation
from whichone.training.settings import Settings
from whichone.training.sparse import SparseTraining
from whichone.training.start import Start
from whichone.versions import environment

Kind = Literal["dense", "late", "sparse"]


def train_retriever(
    plan: Plan,
    out: str | Path,
    *,
    start: Start,
    settings: Settings,
    kind: Kind = "dense",
    per_relation: bool = False,
    device: str | None = None,
) -> Trained:
    """A bi-encoder, or a late-interaction or learned sparse model, of the same examples.

    What is never learned from is said in `training.json`.
    """
    if kind != "dense":
        return _train_one_model(kind, plan, out, start, settings, per_relation, device)
    if per_relation and settings.mode != "only-questions":
        raise UsageError(
            "an encoder for each relation on one index leaves the passages as they are",
            hint="add --mode only-questions",
        )
    folder, device = training_folder(out), chosen_device(device)
    start.check()
    quiet_libraries()
    data = training_data(plan, settings, folder / "sources")
    training = BiEncoderTraining(
        start,
        data.learn,
        data.watch,
        folder / "joint" if per_relation else folder,
        settings,
        device=device,
    )
    trained = training.run()
    description: dict[str, Any] = {}
    if per_relation:
        description["relations"] = train_per_relation(
            training, data.learn, data.watch, folder, start, device
        )
    _write(folder, training, data, trained, start, description)
    return trained


def _train_one_model(
    kind: Kind,
    plan: Plan,
    out: str | Path,
    start: Start,
    settings: Settings,
    per_relation: bool,
    device: str | None,
) -> Trained:
    """Questions and passages share one model; `OUT/best` is what `-o model=` takes."""
    if per_relation or settings.mode != "both" or start.passages or start.base:
        raise UsageError(
            f"a {kind} model is one model for questions and passages",
            hint="leave out --mode, --per, --passage-checkpoint and --base",
        )
    folder, device = training_folder(out), chosen_device(device)
    start.check()
    quiet_libraries()
    data = training_data(plan, settings, folder / "sources")
    make = LateTraining if kind == "late" else SparseTraining
    training = make(start, data.learn, data.watch, folder, settings, device=device)
    trained = training.run()
    _write(folder, training, data, trained, start, {"kind": kind})
    return trained


def train_reranker(
    plan: Plan, out: str | Path, *, start: Start, settings: Settings, device: str | None = None
) -> Trained:
    """A cross-encoder; `OUT/best` is what `retrieve --retriever rerank -o model=` takes."""
    folder, device = training_folder(out), chosen_device(device)
    start.check()
    quiet_libraries()
    data = training_data(plan, settings, folder / "sources")
    training = CrossEncoderTraining(start, data.learn, data.watch, folder, settings, device=device)
    trained = training.run()
    _write(folder, training, data, trained, start, {})
    return trained


def _write(
    folder: Path,
    training: Training[Example],
    data: TrainingData,
    trained: Trained,
    start: Start,
    given: dict[str, Any],
) -> None:
    write_examples(folder / "examples.jsonl", data.learn)
    document = {
        "start": msgspec.to_builtins(start),
        "identity": training.identity,
        "epochs": trained.epochs,
        "steps": trained.steps,
        "losses": trained.losses,
        "held_out": trained.held_out,
        "best_epoch": trained.best_epoch,
        **given,
        "sources": msgspec.to_builtins(data.taken),
        "never_seen": [q.id for q in data.never_seen],
        "made": environment(),
    }
    write_atomic(
        folder / "training.json",
        msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n",
    )
