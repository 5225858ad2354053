"""`whichone train reader`: extractive, sequence-to-sequence and claim-checking readers; exact to resume."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.lines import write_atomic
from whichone.progress import progress, talk
from whichone.reading.checkpoint import HEADS
from whichone.reading.claims import NEUTRAL, REFUTES, SUPPORTS
from whichone.retrieval.retrieve import default_index_folder
from whichone.training import checkpoints
from whichone.training.checkpoints import Progress
from whichone.training.reading_examples import Kind, ReadingExample, reading_examples
from whichone.training.settings import Settings
from whichone.training.splits import split_by_name
from whichone.versions import environment

LABELS = (SUPPORTS, REFUTES, NEUTRAL)
CLASSES: dict[Kind, str] = dict(zip(("extractive", "seq2seq", "claims"), HEADS, strict=True))


class _One:
    """One model where `checkpoints` expects towers."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])


class ReaderTraining:
    """One training run into one folder; started again it goes on from its last checkpoint."""

    def __init__(
        self,
        kind: Kind,
        checkpoint: str | Path,
        examples: Sequence[ReadingExample],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        import torch
        import transformers

        if len(examples) < settings.batch:
            raise BadInput(f"{len(examples)} examples do not fill one batch of {settings.batch}")
        self.kind, self.examples, self.folder, self.settings = kind, examples, folder, settings
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(settings.seed)
        extra: dict[str, Any] = {}
        if kind == "claims":
            extra = {
                "num_labels": 3,
                "ignore_mismatched_sizes": True,  # a head of other labels is replaced
                "id2label": dict(enumerate(LABELS)),
                "label2id": {v: i for i, v in enumerate(LABELS)},
            }
        maker = getattr(transformers, CLASSES[kind])
        self.model = maker.from_pretrained(str(checkpoint), **extra).to(self.device)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(checkpoint))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.learning_rate)
        self.steps = len(examples) // settings.batch
        total = self.steps * settings.epochs
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: max(0.0, 1 - step / max(1, total))
        )
        digest = hashlib.sha256(b"".join(map(msgspec.json.encode, examples))).hexdigest()[:16]
        self.identity = {
            "kind": kind,
            "settings": msgspec.to_builtins(settings),
            "examples": digest,
        }

    def run(self) -> Progress:
        self.folder.mkdir(parents=True, exist_ok=True)
        held: Any = _One(self.model)
        parts = (held, self.optimizer, self.scheduler)
        at = checkpoints.load(self.folder, self.identity, *parts) or Progress()
        left = self.settings.epochs * self.steps - at.total
        with progress("training", max(0, left), "steps") as advance:
            while at.epoch < self.settings.epochs:
                self.model.train()
                for batch in self._batches(at.epoch, at.step):
                    at.running += self._step(batch, at)
                    at.step, at.total = at.step + 1, at.total + 1
                    advance(1)
                    if at.total % self.settings.every == 0:
                        checkpoints.save(self.folder, self.identity, at, *parts)
                at.losses.append(at.running / max(1, at.step))
                at.epoch, at.step, at.running = at.epoch + 1, 0, 0.0
                checkpoints.save(self.folder, self.identity, at, *parts)
                talk(f"epoch {at.epoch}: loss {at.losses[-1]:.4f}")
        self.model.save_pretrained(self.folder / "model")
        self.tokenizer.save_pretrained(self.folder / "model")
        return at

    def _batches(self, epoch: int, done: int) -> Iterator[list[ReadingExample]]:
        order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.examples))
        size = self.settings.batch
        for n in range(done, self.steps):
            yield [self.examples[i] for i in order[n * size : (n + 1) * size]]

    def _step(self, batch: Sequence[ReadingExample], at: Progress) -> float:
        import torch

        self.optimizer.zero_grad(set_to_none=True)
        inputs = {k: v.to(self.device) for k, v in _ENCODE[self.kind](self, batch).items()}
        loss = self.model(**inputs).loss
        if not torch.isfinite(loss):
            raise BadInput(
                f"the loss is not finite in epoch {at.epoch + 1}, step {at.step + 1}",
                ids=[e.id for e in batch],
                hint=f"the last good checkpoint is in {self.folder}",
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        self.scheduler.step()
        return float(loss.detach())


def _extractive(training: ReaderTraining, batch: Sequence[ReadingExample]) -> Any:
    """Question and the stretch of the passage around the answer; no answer points at the first token."""
    import torch

    longest = min(training.settings.longest, int(training.model.config.max_position_embeddings))
    texts, starts = zip(*(_around(e, 3 * longest) for e in batch), strict=True)
    made = training.tokenizer(
        [e.question for e in batch],
        list(texts),
        truncation="only_second",
        max_length=longest,
        padding=True,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    begin, end = [], []
    for i, example in enumerate(batch):
        place = (
            _token_span(made, i, starts[i], starts[i] + len(example.target))
            if starts[i] >= 0
            else (0, 0)
        )
        begin.append(place[0])
        end.append(place[1])
    made.pop("offset_mapping")
    made["start_positions"], made["end_positions"] = torch.tensor(begin), torch.tensor(end)
    return made


def _around(example: ReadingExample, characters: int) -> tuple[str, int]:
    """The text cut so that the answer is inside, and where the answer then begins."""
    if example.start < 0 or example.start + len(example.target) <= characters:
        return example.text, example.start
    cut = max(0, example.start - characters // 2)
    return example.text[cut:], example.start - cut


def _token_span(made: Any, row: int, start: int, end: int) -> tuple[int, int]:
    offsets, inside = made["offset_mapping"][row].tolist(), made.sequence_ids(row)
    tokens = [
        i for i, (a, b) in enumerate(offsets) if inside[i] == 1 and a < end and b > start and b > a
    ]
    return (tokens[0], tokens[-1]) if tokens else (0, 0)


def _seq2seq(training: ReaderTraining, batch: Sequence[ReadingExample]) -> Any:
    texts = [f"{e.question} {e.title} | {e.text}" for e in batch]
    longest = training.settings.longest
    made = training.tokenizer(
        texts, truncation=True, max_length=longest, padding=True, return_tensors="pt"
    )
    made.pop("token_type_ids", None)
    targets = training.tokenizer(
        text_target=[e.target for e in batch],
        truncation=True,
        max_length=64,
        padding=True,
        return_tensors="pt",
    )["input_ids"]
    made["labels"] = targets.masked_fill(targets == training.tokenizer.pad_token_id, -100)
    return made


def _claims(training: ReaderTraining, batch: Sequence[ReadingExample]) -> Any:
    import torch

    longest = min(training.settings.longest, int(training.model.config.max_position_embeddings))
    made = training.tokenizer(
        [e.question for e in batch],
        [f"{e.title} | {e.text}" for e in batch],
        truncation="longest_first",
        max_length=longest,
        padding=True,
        return_tensors="pt",
    )
    made["labels"] = torch.tensor([LABELS.index(e.target) for e in batch])
    return made


_ENCODE = {"extractive": _extractive, "seq2seq": _seq2seq, "claims": _claims}


def train_reader(
    sources: Sequence[str | Path],
    out: str | Path,
    *,
    kind: Kind,
    checkpoint: str,
    settings: Settings,
    held_out: float = 0.2,
    device: str | None = None,
) -> Progress:
    """Train on the queries of benchmarks, names of the held-out share aside."""
    examples: list[ReadingExample] = []
    unseen: list[str] = []
    for source in sources:
        benchmark = Benchmark.open(source)
        train, test = split_by_name(benchmark.queries, held_out, seed=settings.seed)
        found, without = reading_examples(
            benchmark, train, kind, default_index_folder(benchmark), seed=settings.seed
        )
        if without:
            talk(
                f"{source}: {len(without)} queries teach nothing (no gold passage that holds the answer)"
            )
        examples += found
        unseen += [q.id for q in test]
    folder = Path(out)
    at = ReaderTraining(kind, checkpoint, examples, folder, settings, device=device).run()
    document = {
        "kind": kind,
        "checkpoint": checkpoint,
        "settings": msgspec.to_builtins(settings),
        "examples": len(examples),
        "losses": at.losses,
        "never_seen": unseen,
        "made": environment(),
    }
    write_atomic(
        folder / "training.json",
        msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n",
    )
    return at
