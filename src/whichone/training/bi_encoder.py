"""Training a bi-encoder with in-batch, BM25 and namesake negatives; exact to resume."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from whichone.errors import BadInput
from whichone.progress import progress as bar
from whichone.progress import talk
from whichone.training import checkpoints
from whichone.training.checkpoints import Progress
from whichone.training.examples import Example, Text
from whichone.training.settings import Settings
from whichone.training.towers import Towers

if TYPE_CHECKING:
    import torch


class Trained(msgspec.Struct, frozen=True):
    """What a training came to."""

    folder: Path
    epochs: int
    steps: int
    losses: list[float]
    held_out: list[float]
    best_epoch: int


class BiEncoderTraining:
    """One training run into one folder; started again it goes on from its last checkpoint."""

    def __init__(
        self,
        checkpoint: str | Path,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        import torch

        _check_negatives(examples, settings)
        self.examples = examples
        self.held_out = held_out
        self.folder = folder
        self.settings = settings
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(settings.seed)
        self.towers = Towers.load(checkpoint, settings.mode, settings.longest, self.device)
        self.optimizer = torch.optim.AdamW(
            self.towers.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.steps = max(1, len(examples) // settings.batch)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._rate)
        self.identity = {
            "checkpoint": str(Path(checkpoint).name),
            "settings": msgspec.to_builtins(settings),
            "examples": examples_hash(examples),
            "held_out": examples_hash(held_out),
        }

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
        at = (
            checkpoints.load(
                self.folder, self.identity, self.towers, self.optimizer, self.scheduler
            )
            or Progress()
        )
        left = self.settings.epochs * self.steps - at.total
        with bar("training", max(0, left), "steps") as advance:
            while at.epoch < self.settings.epochs and not self._finished(at):
                self._epoch(at, advance)
        return self._finish(at)

    def _finished(self, at: Progress) -> bool:
        patience = self.settings.patience
        return bool(patience and at.held_out and len(at.held_out) - 1 - at.best_epoch >= patience)

    def _epoch(self, at: Progress, advance: Any) -> None:
        self.towers.train()
        for batch in self._batches(at.epoch, at.step):
            at.running += self._step(batch, at)
            at.step += 1
            at.total += 1
            advance(1)
            if at.total % self.settings.every == 0:
                self._save(at)
        at.losses.append(at.running / max(1, at.step))
        at.epoch, at.step, at.running = at.epoch + 1, 0, 0.0
        self._look_at_held_out(at)
        self._save(at)

    def _save(self, at: Progress) -> None:
        checkpoints.save(
            self.folder, self.identity, at, self.towers, self.optimizer, self.scheduler
        )

    def _batches(self, epoch: int, done: int) -> Iterator[list[Example]]:
        """The epoch's batches in an order that only seed and epoch decide, from the one after `done`."""
        order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.examples))
        size = self.settings.batch
        for n in range(done, self.steps):
            yield [self.examples[i] for i in order[n * size : (n + 1) * size]]

    def _step(self, batch: Sequence[Example], at: Progress) -> float:
        import torch

        self.optimizer.zero_grad(set_to_none=True)
        with self._precision():
            loss = self._loss(batch, at.epoch)
        if not torch.isfinite(loss):
            raise BadInput(
                f"the loss is not finite in epoch {at.epoch + 1}, step {at.step + 1}",
                ids=[e.id for e in batch],
                hint=f"the last good checkpoint is in {self.folder}; a smaller learning rate may help",
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.towers.parameters(), self.settings.clip)
        self.optimizer.step()
        self.scheduler.step()
        return float(loss.detach())

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        import torch

        if self.device.startswith("cuda"):
            half: contextlib.AbstractContextManager[Any] = torch.autocast("cuda", torch.bfloat16)
            return half
        return contextlib.nullcontext()

    def _loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        """Each question against all positives and negatives of its batch; what is gold for it aside."""
        import torch

        wrong = [n for e in batch for n in self._negatives(e, epoch)]
        passages = [e.positive for e in batch] + wrong
        questions = self.towers.encode("questions", [e.question for e in batch])
        vectors = self.towers.encode("passages", [p.joined() for p in passages])
        scores = questions @ vectors.T * self.settings.scale
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        return torch.nn.functional.cross_entropy(
            scores, torch.arange(len(batch), device=scores.device)
        )

    def _negatives(self, example: Example, epoch: int) -> list[Text]:
        """The example's next wrong passages of each kind: another epoch, the next ones."""
        chosen = []
        for kind in self.settings.kinds:
            held = [n.passage for n in example.negatives if n.kind in (kind, "given")]
            chosen += [
                held[(epoch * self.settings.hard + i) % len(held)]
                for i in range(self.settings.hard)
                if held
            ]
        return list(dict.fromkeys(chosen))

    def _look_at_held_out(self, at: Progress) -> None:
        if not self.held_out:
            return
        found = held_out_accuracy(self.towers, self.held_out)
        at.held_out.append(found)
        if found > at.best:
            at.best, at.best_epoch = found, len(at.held_out) - 1
            self.towers.save(self.folder / "best")
        talk(f"epoch {at.epoch}: loss {at.losses[-1]:.4f}, held-out names {found:.3f}")

    def _finish(self, at: Progress) -> Trained:
        self.towers.save(self.folder / "last")
        if not self.held_out:
            self.towers.save(self.folder / "best")
        return Trained(self.folder, at.epoch, at.total, at.losses, at.held_out, at.best_epoch)


def also_gold(batch: Sequence[Example], passages: Sequence[Text]) -> torch.Tensor:
    """Where a passage is right for a question without being its own positive: it must not count as wrong."""
    import torch

    pages = [p.page for p in passages]
    rows = []
    for i, example in enumerate(batch):
        gold = {*example.gold, example.positive.page} - {""}
        rows.append([j != i and page in gold for j, page in enumerate(pages)])
    return torch.tensor(rows)


def held_out_accuracy(towers: Towers, examples: Sequence[Example], size: int = 64) -> float:
    """How often the right passage beats the example's own wrong ones and all other right ones."""
    import torch

    towers.eval()
    passages = list(
        dict.fromkeys(
            [e.positive for e in examples] + [n.passage for e in examples for n in e.negatives]
        )
    )
    place = {p: i for i, p in enumerate(passages)}
    with torch.no_grad():
        vectors = torch.cat(
            [
                towers.encode("passages", [p.joined() for p in passages[i : i + size]])
                for i in range(0, len(passages), size)
            ]
        )
        questions = torch.cat(
            [
                towers.encode("questions", [e.question for e in examples[i : i + size]])
                for i in range(0, len(examples), size)
            ]
        )
        scores = (questions @ vectors.T).masked_fill(
            _other_gold(examples, passages).to(vectors.device), -2.0
        )
    right = torch.tensor([place[e.positive] for e in examples], device=scores.device)
    towers.train()
    return float((scores.argmax(1) == right).float().mean())


def _other_gold(examples: Sequence[Example], passages: Sequence[Text]) -> torch.Tensor:
    import torch

    by_page: dict[str, list[int]] = {}
    for i, passage in enumerate(passages):
        by_page.setdefault(passage.page, []).append(i)
    mask = torch.zeros((len(examples), len(passages)), dtype=torch.bool)
    for row, example in enumerate(examples):
        for page in {*example.gold, example.positive.page} - {""}:
            for i in by_page.get(page, ()):
                mask[row, i] = passages[i] != example.positive
    return mask


def _check_negatives(examples: Sequence[Example], settings: Settings) -> None:
    if len(examples) < settings.batch:
        raise BadInput(
            f"{len(examples)} examples do not fill one batch of {settings.batch}",
            hint="more examples, or a smaller --batch",
        )
    missing = [
        kind
        for kind in settings.kinds
        if not any(n.kind in (kind, "given") for e in examples for n in e.negatives)
    ]
    if missing:
        raise BadInput(
            f"no example has {' or '.join(missing)} negatives",
            hint="choose others with --negatives, or in-batch ones only with --negatives none",
        )


def examples_hash(examples: Sequence[Example]) -> str:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(msgspec.json.encode(example))
    return digest.hexdigest()[:16]
