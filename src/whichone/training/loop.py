"""The loop that every training here goes through: seeded batches, checkpoints, early stopping."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from whichone.errors import BadInput
from whichone.files.arrow_records import Selection
from whichone.files.folder import can_go_on
from whichone.progress import progress as bar
from whichone.progress import talk
from whichone.training import checkpoints
from whichone.training.checkpoints import Learner, Progress
from whichone.training.devices import enough_memory
from whichone.training.settings import Settings
from whichone.training.stopping import Stop, signals_wait

if TYPE_CHECKING:
    import torch


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
        at = checkpoints.load(self.folder, self.identity, *self._parts()) or Progress()
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
        checkpoints.save_model(self.model, self.folder / "last")
        if not self.held_out:
            checkpoints.save_model(self.model, self.folder / "best")

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
        checkpoints.save(self.folder, self.identity, at, *self._parts())
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
            f"the last good checkpoint is {self.folder / checkpoints.FILE}"
            if (self.folder / checkpoints.FILE).exists()
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
                checkpoints.save_model(self.model, self.folder / "best")
            message += f", held-out names {accuracy:.3f}"
        talk(message)
