"""`whichone train reader`: extractive, sequence-to-sequence and claim-checking readers; exact to resume."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.lines import write_atomic
from whichone.progress import talk
from whichone.reading.checkpoint import HEADS
from whichone.reading.checkpoint_reader import TRAINED_TASKS, titled
from whichone.reading.claims import NEUTRAL, REFUTES, SUPPORTS
from whichone.runs.retrieve import default_index_folder
from whichone.training.checkpoints import OneModel, save_model, training_folder
from whichone.training.devices import chosen_device, quiet_libraries
from whichone.training.loop import Trained, Training
from whichone.training.reading_examples import (
    Kind,
    Negatives,
    ReadingExample,
    chosen_tasks,
    reading_examples,
)
from whichone.training.settings import Settings
from whichone.training.splits import split_by_name
from whichone.training.start import Start, place_of
from whichone.training.tower import on_device
from whichone.versions import environment

if TYPE_CHECKING:
    import torch

LABELS = (SUPPORTS, REFUTES, NEUTRAL)
CLASSES: dict[Kind, str] = dict(zip(("extractive", "seq2seq", "claims"), HEADS, strict=True))


class ReadingModel(OneModel):
    """A HuggingFace model with its tokenizer, as one thing that learns."""

    key = "model"

    def __init__(self, kind: Kind, checkpoint: str, device: str) -> None:
        import transformers

        extra: dict[str, Any] = {}
        if kind == "claims":
            extra = {
                "num_labels": 3,
                "ignore_mismatched_sizes": True,  # a head of other labels is replaced
                "id2label": dict(enumerate(LABELS)),
                "label2id": {v: i for i, v in enumerate(LABELS)},
            }
        maker = getattr(transformers, CLASSES[kind])
        self.model = maker.from_pretrained(checkpoint, **extra).to(device)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


class ReaderTraining(Training[ReadingExample]):
    """A reader of one of three kinds; nothing is held out to stop by."""

    def __init__(
        self,
        kind: Kind,
        checkpoint: str | Path,
        examples: Sequence[ReadingExample],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
        tasks: Sequence[str] = (),
    ) -> None:
        import torch

        device = chosen_device(device)
        torch.manual_seed(settings.seed)  # of a head that is made anew
        self.kind, self.tasks = kind, tasks
        self.reading = ReadingModel(kind, place_of(str(checkpoint)), device)
        digest = hashlib.sha256(b"".join(map(msgspec.json.encode, examples))).hexdigest()[:16]
        identity = {"model": kind, **Start(str(checkpoint)).identity(), "examples": digest}
        super().__init__(
            self.reading, examples, (), folder, settings, device=device, identity=identity
        )

    def loss(self, batch: Sequence[ReadingExample], epoch: int) -> torch.Tensor:
        inputs = on_device(_ENCODE[self.kind](self, batch), self.device)
        found: torch.Tensor = self.reading.model(**inputs).loss
        return found

    def finish(self) -> None:
        if self.tasks:
            setattr(self.reading.model.config, TRAINED_TASKS, list(self.tasks))
        save_model(self.reading, self.folder / "model")


def _extractive(training: ReaderTraining, batch: Sequence[ReadingExample]) -> Any:
    """Question and the stretch of the passage around the answer; no answer points at the first token."""
    import torch

    longest = min(
        training.settings.longest, int(training.reading.model.config.max_position_embeddings)
    )
    texts, starts = zip(*(_titled_around(e, 3 * longest) for e in batch), strict=True)
    made = training.reading.tokenizer(
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


def _titled_around(example: ReadingExample, characters: int) -> tuple[str, int]:
    """The title and the text around the answer, as the reader will see them."""
    text, start = _around(example, characters)
    shown = titled(example.title, text)
    return shown, start + len(shown) - len(text) if start >= 0 else start


def _token_span(made: Any, row: int, start: int, end: int) -> tuple[int, int]:
    offsets, inside = made["offset_mapping"][row].tolist(), made.sequence_ids(row)
    tokens = [
        i for i, (a, b) in enumerate(offsets) if inside[i] == 1 and a < end and b > start and b > a
    ]
    return (tokens[0], tokens[-1]) if tokens else (0, 0)


def _seq2seq(training: ReaderTraining, batch: Sequence[ReadingExample]) -> Any:
    texts = [f"{e.question} {titled(e.title, e.text)}" for e in batch]
    longest = training.settings.longest
    made = training.reading.tokenizer(
        texts, truncation=True, max_length=longest, padding=True, return_tensors="pt"
    )
    made.pop("token_type_ids", None)
    targets = training.reading.tokenizer(
        text_target=[e.target for e in batch],
        truncation=True,
        max_length=64,
        padding=True,
        return_tensors="pt",
    )["input_ids"]
    made["labels"] = targets.masked_fill(targets == training.reading.tokenizer.pad_token_id, -100)
    return made


def _claims(training: ReaderTraining, batch: Sequence[ReadingExample]) -> Any:
    import torch

    longest = min(
        training.settings.longest, int(training.reading.model.config.max_position_embeddings)
    )
    made = training.reading.tokenizer(
        [e.question for e in batch],
        [titled(e.title, e.text) for e in batch],
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
    negatives: Negatives = "bm25",
    tasks: Sequence[str] = (),
) -> Trained:
    """Train on the queries of benchmarks, names of the held-out share aside; 0 learns from all."""
    tasks = chosen_tasks(kind, tasks)
    folder, device = training_folder(out), chosen_device(device)
    Start(checkpoint).check()
    quiet_libraries()
    examples: list[ReadingExample] = []
    unseen: list[str] = []
    for source in sources:
        benchmark = Benchmark.open(source)
        train, test = split_by_name(benchmark.queries, held_out, seed=settings.seed)
        found, without = reading_examples(
            benchmark,
            train,
            kind,
            default_index_folder(benchmark.corpus),
            seed=settings.seed,
            negatives=negatives,
            tasks=tasks,
        )
        if without:
            talk(
                f"{source}: {len(without)} queries teach nothing (no gold passage that holds the answer)"
            )
        examples += found
        unseen += [q.id for q in test]
    trained = ReaderTraining(
        kind, checkpoint, examples, folder, settings, device=device, tasks=tasks
    ).run()
    document = {
        "kind": kind,
        "tasks": list(tasks),
        "negatives": negatives,
        "checkpoint": checkpoint,
        "settings": msgspec.to_builtins(settings),
        "examples": len(examples),
        "losses": trained.losses,
        "never_seen": unseen,
        "made": environment(),
    }
    write_atomic(
        folder / "training.json",
        msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n",
    )
    return trained
