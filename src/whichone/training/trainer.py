"""The loop that every training here goes through: seeded batches, checkpoints, early stopping."""

from __future__ import annotations

import contextlib
import logging
import shutil
import signal
import threading
import tomllib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, UsageError, did_you_mean, missing_extra, sample
from whichone.files.arrow_records import Selection
from whichone.files.folder import can_go_on
from whichone.files.output import may_overwrite
from whichone.progress import progress as bar
from whichone.progress import talk

if TYPE_CHECKING:
    import torch


# Checkpoints from which training goes on as if it had never stopped.


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


# Where a training runs, and what is said when there is no such place or too little room.


def chosen_device(given: str | None) -> str:
    """The device that is meant: a GPU where there is one, unless another is given."""
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "train") from None
    if given is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(given).type
    except RuntimeError:
        raise UsageError(
            f"there is no device called {given!r}", hint="cuda, cuda:1 or cpu"
        ) from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise Missing("torch finds no GPU on this machine", hint="leave --device out, or say cpu")
    return given


def quiet_libraries() -> None:
    """No bars and notes of the model libraries between our own lines."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


@contextlib.contextmanager
def enough_memory(batch: int, longest: int) -> Iterator[None]:
    """Memory that runs out ends in an error that says what to make smaller."""
    import torch

    try:
        yield
    except (torch.cuda.OutOfMemoryError, MemoryError) as error:
        raise _too_little(batch, longest, error) from error
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        raise _too_little(batch, longest, error) from error


def _too_little(batch: int, longest: int, error: BaseException) -> Missing:
    first_line = next(iter(str(error).splitlines()), "")
    return Missing(
        f"too little memory for batches of {batch} with texts of up to {longest} tokens. {first_line}".strip(),
        hint="a smaller --batch, --longest or --hard, into another folder: the outcome is another one",
    )


# How a retriever is trained: everything that decides the outcome, and the papers' presets.


Mode = Literal["both", "only-questions", "only-passages"]
KINDS = ("bm25", "namesake", "given")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`warmup` below 1 is a share of all steps, else a number of steps.

    `mode`: both towers learn (one shared encoder where the checkpoint is one), or one of them while
    the other stays as it is: then an index of passages stays valid, or questions do.
    """

    epochs: int = 4
    learning_rate: float = 2e-5
    batch: int = 32
    warmup: float = 0.1
    longest: int = 256
    clip: float = 2.0
    scale: float | None = None
    """What closeness is multiplied by: 20 for cosines, 1 for DPR's inner products where it is not given."""
    weight_decay: float = 0.01
    hard: int = 1
    """Wrong passages of each kind that an example brings into its batch."""
    others: int = 3
    """Right passages of other examples of the batch that a re-ranker's example is shown as wrong."""
    per_source: int = 0
    """Examples drawn of each source an epoch, sources taking turns by the batch; 0 mixes all as they are."""
    mode: Mode = "both"
    kinds: tuple[str, ...] = ("bm25", "namesake")
    seed: int = 0
    patience: int = 3
    """Epochs without improvement on held-out names after which training stops; 0 never."""
    every: int = 200
    """Steps between checkpoints, beside those at the end of every epoch and at a signal to stop."""
    towers: Literal["", "dpr"] = ""
    """dpr: a BERT checkpoint is turned into DPR's two encoders, whose vectors are those of their first token."""
    size: int = 128
    """Numbers a token's vector has after a projection that is made anew (late interaction)."""
    flops: float = 3e-4
    """How much many words cost (learned sparse): weight of the regulariser that makes weights zero."""

    def check(self) -> None:
        if self.batch < 2:
            raise UsageError("a batch needs at least 2 examples: its own others are the negatives")
        if self.epochs < 1 or self.longest < 8 or not 0 < self.learning_rate < 1e38:
            raise UsageError(
                "epochs, longest and learning_rate must be positive (longest at least 8)"
            )
        if self.every < 1:
            raise UsageError("every must be at least 1 step")
        if self.hard < 1 or self.others < 0:
            raise UsageError("hard must be at least 1, and others not negative")
        if self.size < 1 or not 0 <= self.flops < 1e38:
            raise UsageError("size must be at least 1, and flops not negative")
        if self.per_source and self.per_source < self.batch:
            raise UsageError(
                f"{self.per_source} examples of a source do not fill one batch of {self.batch}"
            )
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise UsageError(
                f"there are no negatives called {sample(unknown)}",
                hint=f"{', '.join(KINDS)}, or none for in-batch ones only",
            )


def preset(name: str, **changes: Any) -> Settings:
    """A preset's settings, with some of them changed."""
    text = files("whichone.training").joinpath("presets.toml").read_text("utf-8")
    known = tomllib.loads(text)
    if name not in known:
        raise UsageError(f"there is no preset {name!r}", hint=did_you_mean(name, known))
    given = {k: v for k, v in changes.items() if v is not None}
    settings = msgspec.convert({**known[name], **given}, Settings)
    settings.check()
    return settings


# An interrupt while a model learns: the step under way is finished and kept before the process ends.


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether the process was asked to end, and how it would have ended at once."""

    def __init__(self) -> None:
        self._end: Callable[[], object] | None = None

    @property
    def asked(self) -> bool:
        return self._end is not None

    def ask(self, end: Callable[[], object]) -> None:
        """A second request does not wait for the step."""
        if self._end is not None:
            end()
        self._end = end

    def end(self) -> None:
        """What the signal would have done."""
        if self._end is not None:
            self._end()
            raise KeyboardInterrupt


@contextmanager
def signals_wait() -> Iterator[Stop]:
    """SIGINT and SIGTERM wait until `end` is called; outside the main thread nothing changes."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def wait(number: int, frame: FrameType | None) -> None:
        handler = before[number]
        stop.ask(lambda: handler(number, frame) if callable(handler) else _end(number))

    for each in SIGNALS:
        signal.signal(each, wait)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int) -> None:
    """A signal without a handler in Python ends the process, as it would have."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


# The loop that every training here goes through: seeded batches, checkpoints, early stopping.


class HasSource(Protocol):
    @property
    def source(self) -> str: ...


Sourced = TypeVar("Sourced", bound=HasSource)


def by_source(examples: Sequence[Sourced]) -> dict[str, Selection[Sourced]]:
    places: dict[str, array[int]] = {}
    for place, example in enumerate(examples):
        places.setdefault(example.source, array("q")).append(place)
    return {source: Selection(examples, listed) for source, listed in sorted(places.items())}


def round_robin(
    examples: Sequence[Sourced], batch: int, per_source: int, seed: int, epoch: int
) -> list[Selection[Sourced]]:
    """The batches of an epoch: `per_source` examples of each dataset, drawn anew by seed and epoch.

    A dataset with fewer is drawn from more than once, each of its examples about equally often.
    """
    turns = []
    for place, held in enumerate(by_source(examples).values()):
        generator = np.random.default_rng([seed, epoch, place])
        rounds = -(-per_source // len(held))
        drawn = np.concatenate([generator.permutation(len(held)) for _ in range(rounds)])
        starts = range(0, per_source - batch + 1, batch)
        turns.append([Selection(held, drawn[at : at + batch]) for at in starts])
    return [item for turn in zip(*turns, strict=True) for item in turn]


class Taught(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def source(self) -> str: ...


E = TypeVar("E", bound=Taught)


class Trained(msgspec.Struct, frozen=True):
    """What a training came to."""

    folder: Path
    epochs: int
    steps: int
    losses: list[float]
    held_out: list[float]
    best_epoch: int


class Training(ABC, Generic[E]):
    """One training run into one folder; started again it goes on from its last checkpoint.

    What is learned from `examples` is watched on `held_out`: the best epoch there is kept as `best`.
    """

    def __init__(
        self,
        model: Learner,
        examples: Sequence[E],
        held_out: Sequence[E],
        folder: Path,
        settings: Settings,
        *,
        device: str,
        identity: dict[str, Any],
    ) -> None:
        import torch

        if len(examples) < settings.batch:
            raise BadInput(
                f"{len(examples)} examples do not fill one batch of {settings.batch}",
                hint="more examples, or a smaller --batch",
            )
        torch.manual_seed(settings.seed)  # whatever loading the model has drawn
        self.model = model
        self.examples, self.held_out = examples, held_out
        self.folder, self.settings, self.device = folder, settings, device
        decides = msgspec.to_builtins(settings)
        decides.pop("every")  # how often a checkpoint is written changes nothing that is learned
        self.identity = {**identity, "settings": decides}
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.steps = len(examples) // settings.batch
        if settings.per_source:
            self.steps = len(by_source(examples)) * (settings.per_source // settings.batch)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._rate)
        self._saved = 0

    @abstractmethod
    def loss(self, batch: Sequence[E], epoch: int) -> torch.Tensor:
        """What the batch costs, with gradients."""

    def accuracy(self) -> float:
        """How often the held-out examples are answered rightly; called without gradients."""
        return float("nan")

    def _rate(self, step: int) -> float:
        """Linear warm-up, then linear to zero."""
        total = self.steps * self.settings.epochs
        warm = self.settings.warmup
        warm = int(warm * total) if warm < 1 else min(int(warm), total // 2)
        if step < warm:
            return (step + 1) / (warm + 1)
        return max(0.0, (total - step) / max(1, total - warm))

    def run(self) -> Trained:
        self.folder.mkdir(parents=True, exist_ok=True)
        at = load(self.folder, self.identity, *self._parts()) or Progress()
        left = self.settings.epochs * self.steps - at.total
        with (
            enough_memory(self.settings.batch, self.settings.longest),
            bar("training", max(0, left), "steps") as advance,
            signals_wait() as stop,
        ):
            self._saved = at.total
            while at.epoch < self.settings.epochs and not self._stops_early(at):
                self._epoch(at, advance, stop)
        self.finish()
        return Trained(self.folder, at.epoch, at.total, at.losses, at.held_out, at.best_epoch)

    def finish(self) -> None:
        """Keep the last state; it is also the best one where nothing was held out."""
        save_model(self.model, self.folder / "last")
        if not self.held_out:
            save_model(self.model, self.folder / "best")

    def _stops_early(self, at: Progress) -> bool:
        patience = self.settings.patience
        return bool(patience and at.held_out and len(at.held_out) - 1 - at.best_epoch >= patience)

    def _epoch(self, at: Progress, advance: Callable[[int], None], stop: Stop) -> None:
        self.model.train()
        for batch in self._batches(at.epoch, at.step):
            at.running += self._step(batch, at)
            at.step += 1
            at.total += 1
            advance(1)
            if stop.asked or at.total - self._saved >= self.settings.every:
                self._save(at)
            stop.end()
        at.losses.append(at.running / max(1, at.step))
        at.epoch, at.step, at.running = at.epoch + 1, 0, 0.0
        self._look_at_held_out(at)
        self._save(at)
        stop.end()

    def _save(self, at: Progress) -> None:
        save(self.folder, self.identity, at, *self._parts())
        self._saved = at.total
        can_go_on()

    def _parts(self) -> tuple[Learner, Any, Any]:
        return self.model, self.optimizer, self.scheduler

    def _batches(self, epoch: int, done: int) -> Iterator[list[E]]:
        """The epoch's batches in an order that only seed and epoch decide, from the one after `done`."""
        seed, size = self.settings.seed, self.settings.batch
        if self.settings.per_source:
            turns = round_robin(self.examples, size, self.settings.per_source, seed, epoch)
            yield from map(list, turns[done:])
            return
        order = np.random.default_rng([seed, epoch]).permutation(len(self.examples))
        for n in range(done, self.steps):
            yield [self.examples[i] for i in order[n * size : (n + 1) * size]]

    def _step(self, batch: Sequence[E], at: Progress) -> float:
        import torch

        self.optimizer.zero_grad(set_to_none=True)
        with self._precision():
            loss = self.loss(batch, at.epoch)
        self._must_be_finite("loss", loss, batch, at)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self._must_be_finite("gradient", norm, batch, at)
        self.optimizer.step()
        self.scheduler.step()
        return float(loss.detach())

    def _must_be_finite(
        self, what: str, value: torch.Tensor, batch: Sequence[E], at: Progress
    ) -> None:
        """Before the weights are touched, so that no checkpoint contains what is not a number."""
        import torch

        if torch.isfinite(value):
            return
        kept = (
            f"the last good checkpoint is {self.folder / FILE}"
            if (self.folder / FILE).exists()
            else "there is no checkpoint yet"
        )
        raise BadInput(
            f"the {what} is not finite in epoch {at.epoch + 1}, step {at.step + 1}",
            ids=[e.id for e in batch],
            hint=f"{kept}; a smaller --learning-rate may help",
        )

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        import torch

        if self.device.startswith("cuda"):
            half: contextlib.AbstractContextManager[Any] = torch.autocast("cuda", torch.bfloat16)
            return half
        return contextlib.nullcontext()

    def _look_at_held_out(self, at: Progress) -> None:
        import torch

        message = f"epoch {at.epoch}: loss {at.losses[-1]:.4f}"
        if self.held_out:
            self.model.eval()
            with torch.no_grad(), self._precision():
                accuracy = self.accuracy()
            at.held_out.append(accuracy)
            if accuracy > at.best:
                at.best, at.best_epoch = accuracy, len(at.held_out) - 1
                save_model(self.model, self.folder / "best")
            message += f", held-out names {accuracy:.3f}"
        talk(message)
