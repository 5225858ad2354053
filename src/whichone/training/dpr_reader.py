"""Training DPR's reader: the span in the right passage, and the right passage among wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import write_atomic
from whichone.progress import talk
from whichone.reading.checkpoint import Taught, initialisation_of, weights_fingerprint, write_taught
from whichone.reading.extractive import DprReaderModel
from whichone.training.checkpoints import OneModel, save_model, training_folder
from whichone.training.data import Plan, training_data
from whichone.training.devices import chosen_device, quiet_libraries
from whichone.training.examples import Example, Text, training_identity, write_examples
from whichone.training.loop import Trained, Training
from whichone.training.settings import Settings
from whichone.training.start import Start, place_of
from whichone.versions import environment

if TYPE_CHECKING:
    import torch


class ReaderLearner(OneModel):
    key = "reader"

    def __init__(self, reader: DprReaderModel, taught: Taught) -> None:
        self.reader, self.model, self.taught = reader, reader.model, taught

    def save(self, folder: Path) -> None:
        self.reader.save(folder)
        write_taught(folder, self.taught)


class DprReaderTraining(Training[Example]):
    """Loss of DPR: marginal likelihood of all spans that are an answer, and a softmax over passages."""

    def __init__(
        self,
        checkpoint: str,
        examples: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        base: str | None = None,
        device: str | None = None,
    ) -> None:
        import torch

        device = chosen_device(device)
        torch.manual_seed(settings.seed)  # of heads that are made anew
        place = place_of(checkpoint)
        self.reader = DprReaderModel.open(place, base=base, device=device, window=settings.longest)
        taught = Taught(
            initialisation=initialisation_of(
                place, self.reader.model, weights_fingerprint(place) if Path(place).is_dir() else ""
            )
        )
        start = Start(checkpoint, base=base)
        super().__init__(
            ReaderLearner(self.reader, taught),
            examples,
            (),
            folder,
            settings,
            device=device,
            identity=training_identity("dpr-reader", start.identity(), examples, ()),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        import torch

        rows: list[list[int]] = []
        sizes: list[int] = []
        spans: list[list[tuple[int, int]]] = []
        for example in batch:
            shown = [
                example.positive,
                *example.wrong(self.settings.kinds, self.settings.hard, epoch),
            ]
            sizes.append(len(shown))
            spans.append(answer_spans(self.reader, example))
            rows += [self.reader.encoded(example.question, t.title, t.text)[0] for t in shown]
        starts, ends, relevance = self.reader.scores(rows)
        total, place = relevance.new_zeros(()), 0
        for size, answers in zip(sizes, spans, strict=True):
            total = total - relevance[place : place + size].log_softmax(0)[0]
            if answers:
                begin, end = starts[place].log_softmax(0), ends[place].log_softmax(0)
                each = torch.stack([begin[a] + end[b] for a, b in answers])
                total = total - torch.logsumexp(each, 0)
            place += size
        return total / len(batch)

    def finish(self) -> None:
        save_model(self.model, self.folder / "model")


def answer_spans(reader: DprReaderModel, example: Example) -> list[tuple[int, int]]:
    """Places of the first and last token of every stretch of the right passage that is an answer."""
    text = example.positive.text
    _, offsets, first = reader.encoded(example.question, example.positive.title, text)
    results = []
    for answer in example.answers:
        at = text.lower().find(answer.lower()) if answer else -1
        while at >= 0:
            inside = [n for n, (a, b) in enumerate(offsets) if a < at + len(answer) and b > at]
            if inside and offsets[inside[-1]][1] >= at + len(answer):
                results.append((first + inside[0], first + inside[-1]))
            at = text.lower().find(answer.lower(), at + 1)
    return list(dict.fromkeys(results))


def train_dpr_reader(
    plan: Plan,
    out: str | Path,
    *,
    checkpoint: str,
    settings: Settings,
    base: str | None = None,
    device: str | None = None,
) -> Trained:
    """Train on questions with a right passage that states an answer; slots are asked in words."""
    folder, device = training_folder(out), chosen_device(device)
    Start(checkpoint, base=base).check()
    quiet_libraries()
    worded = msgspec.structs.replace(plan, in_words=True)
    data = training_data(worded, settings, folder / "sources")
    every = [*data.learn, *data.watch]
    examples = [e for e in every if states(e.positive, e.answers)]
    if len(examples) < len(every):
        talk(
            f"{len(every) - len(examples):,} questions teach nothing: their passage states no answer"
        )
    if not examples:
        raise BadInput("no right passage states an answer of its question")
    training = DprReaderTraining(checkpoint, examples, folder, settings, base=base, device=device)
    trained = training.run()
    write_examples(folder / "examples.jsonl", examples)
    document: dict[str, Any] = {
        "kind": "dpr",
        "checkpoint": checkpoint,
        "identity": training.identity,
        "losses": trained.losses,
        "sources": data.taken,
        "never_seen": [query.id for query in data.never_seen],
        "made": environment(),
    }
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
    write_atomic(folder / "training.json", encoded + b"\n")
    return trained


def states(passage: Text, answers: Sequence[str]) -> bool:
    return any(a and a.lower() in passage.text.lower() for a in answers)
