"""`whichone train reader`: extractive, sequence-to-sequence and claim-checking readers; exact to resume."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
import transformers

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.arrow_records import MappedRecords, Seen, blocks
from whichone.progress import talk
from whichone.reading.checkpoint import (
    HEADS,
    NO_ANSWER,
    TRAINED_TASKS,
    Taught,
    initialisation_of,
    model_class,
    titled,
    weights_fingerprint,
    write_taught,
)
from whichone.reading.claims import NEUTRAL, REFUTES, SUPPORTS
from whichone.reading.extractive import DprReaderModel
from whichone.reading.seq2seq import KILT, KILT_LABELS, joined_input, prefixed, written
from whichone.runs.retrieve import default_index_folder
from whichone.runs.run import Run
from whichone.training import reading_examples, trainer
from whichone.training.examples import BLOCK, Example, Text, examples_hash, training_identity
from whichone.training.loop import Joined
from whichone.training.training_data import LearningPlan, dev_sources, training_data

LABELS = (SUPPORTS, REFUTES, NEUTRAL)
MOST = 1024  # Tokens of a target at most, of a model that has no limit of its own (T5)
CLASSES: dict[reading_examples.Kind, str] = dict(zip(("extractive", "seq2seq", "claims"), HEADS, strict=True))


class ReaderTraining(trainer.Training[reading_examples.ReadingExample]):
    kept = "model"

    def __init__(
        self,
        kind: reading_examples.Kind,
        checkpoint: str | Path,
        examples: Sequence[reading_examples.ReadingExample],
        folder: Path,
        settings: trainer.TrainingSettings,
        *,
        held_out: Sequence[reading_examples.ReadingExample] = (),
        device: str | None = None,
        taught: Mapping[str, Any] | None = None,
        tasks: Sequence[str] = (),
    ) -> None:
        device = trainer.chosen_device(device)
        torch.manual_seed(settings.seed)  # of a head that is made anew
        self.kind, self.tasks = kind, tasks
        self.library = "Seq2SeqTrainer" if kind == "seq2seq" else "Trainer"
        place = trainer.place_of(str(checkpoint))
        labels: dict[str, Any] = {}
        if kind == "claims":
            labels = {
                "num_labels": 3,
                "ignore_mismatched_sizes": True,  # a head of other labels is replaced
                "id2label": dict(enumerate(LABELS)),
                "label2id": {v: i for i, v in enumerate(LABELS)},
            }
        config = transformers.AutoConfig.from_pretrained(place)
        if kind == "extractive":
            setattr(config, NO_ANSWER, True)
            labels = {"config": config}
        model = model_class(CLASSES[kind], config).from_pretrained(place, **labels).to(device)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(place)
        self.positions = getattr(model.config, "max_position_embeddings", None)
        self.target_limit = int(self.positions or MOST)
        self.prefix = str((taught or {}).get("prefix", ""))
        if kind == "seq2seq" and KILT in self.prefix:
            words = [transformers.AddedToken(label, normalized=False) for label in KILT_LABELS]
            self.tokenizer.add_tokens(words)
            if len(self.tokenizer) > model.get_input_embeddings().num_embeddings:
                model.resize_token_embeddings(len(self.tokenizer))
        self.taught = Taught(
            initialisation=initialisation_of(place, model, weights_fingerprint(place)),
            longest=self._longest_target(examples) if kind == "seq2seq" else 0,
            **(taught or {}),
        )
        identity = {
            "model": kind,
            **trainer.Start(str(checkpoint)).identity(),
            "examples": examples_hash(examples),
        }
        if self.prefix:
            identity["prefix"] = self.prefix
        if held_out:
            identity["held_out"] = examples_hash(held_out)
        super().__init__(model, examples, held_out, folder, settings, device=device, identity=identity)

    def _longest_target(self, examples: Sequence[reading_examples.ReadingExample]) -> int:
        """Tokens of the longest target; those beyond what the model can write are counted and said."""
        seen, longest, longer = Seen(), 0, 0
        targets = (answer for e in examples for answer in (e.target, *(other for other, _ in e.others)))
        for block in blocks((written(self.prefix, target) for target in targets), BLOCK):
            known = seen.add(block, [0] * len(block))
            for target in {t for t, before in zip(block, known, strict=True) if before is None}:
                length = len(self.tokenizer(text_target=target)["input_ids"])
                longest, longer = max(longest, length), longer + (length > self.target_limit)
        if longer:
            talk(
                f"{longer:,} answers are longer than the {self.target_limit:,} tokens that the"
                " model can write, and are cut there"
            )
        return min(longest, self.target_limit)

    def input_text(self, example: reading_examples.ReadingExample) -> str:
        """As reading shows it: passages before the question, or one passage behind it."""
        asked = prefixed(self.prefix, example.task, example.question, example.source)
        if example.context is None:
            return f"{asked} {titled(example.title, example.text)}"
        return joined_input(self.tokenizer, asked, example.task, example.context, self.settings.longest)[0]

    def collate(self, batch: Sequence[reading_examples.ReadingExample], epoch: int) -> dict[str, Any]:
        return dict(_ENCODE[self.kind](self, [example.at(epoch) for example in batch]))

    def accuracy(self) -> float:
        """How often both ends of an answer, the label, or every token after the right ones is the likeliest."""
        right: list[torch.Tensor] = []
        for start in range(0, len(self.held_out), self.settings.batch):
            batch = self.collate(self.held_out[start : start + self.settings.batch], 0)
            inputs = {name: value.to(self.model.device) for name, value in batch.items()}
            said = self.model(**inputs)
            if self.kind == "extractive":
                none = inputs["start_positions"] == 0
                ends = said.end_logits.argmax(1) == inputs["end_positions"]
                both = ends & (said.start_logits.argmax(1) == inputs["start_positions"])
                right.append(((said.no_answer_logits > 0) == none) & (both | none))
            elif self.kind == "claims":
                right.append(said.logits.argmax(1) == inputs["labels"])
            else:
                same = said.logits.argmax(2) == inputs["labels"]
                right.append((same | (inputs["labels"] == -100)).all(1))
        return float(torch.cat(right).float().mean())

    def save(self, folder: Path) -> None:
        if self.tasks:
            setattr(self.model.config, TRAINED_TASKS, list(self.tasks))
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        write_taught(folder, self.taught)


def _extractive(training: ReaderTraining, batch: Sequence[reading_examples.ReadingExample]) -> Any:
    """Question and the stretch of the passage around the answer; where there is none, both ends are 0."""
    longest = min(training.settings.longest, int(training.positions or MOST))
    texts, starts = zip(*(_titled_around(e, 3 * longest) for e in batch), strict=True)
    encoded = training.tokenizer(
        [e.question for e in batch],
        list(texts),
        truncation="only_second",
        max_length=longest,
        padding=True,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    spans = [
        _token_span(encoded, i, start, start + len(e.target)) if start >= 0 else (0, 0)
        for i, (e, start) in enumerate(zip(batch, starts, strict=True))
    ]
    encoded.pop("offset_mapping")
    encoded["start_positions"], encoded["end_positions"] = torch.tensor(spans).T
    return encoded


def _titled_around(example: reading_examples.ReadingExample, characters: int) -> tuple[str, int]:
    """The title and the text around the answer, as the reader will see them, and where the answer begins."""
    start, cut = example.start, 0
    if start >= 0 and start + len(example.target) > characters:
        cut = max(0, start - characters // 2)
    shown = titled(example.title, example.text[cut:])
    return shown, start + len(shown) - len(example.text) if start >= 0 else start


def _token_span(created: Any, row: int, start: int, end: int) -> tuple[int, int]:
    offsets, inside = created["offset_mapping"][row].tolist(), created.sequence_ids(row)
    tokens = [i for i, (a, b) in enumerate(offsets) if inside[i] == 1 and a < end and b > start and b > a]
    return (tokens[0], tokens[-1]) if tokens else (0, 0)


def _seq2seq(training: ReaderTraining, batch: Sequence[reading_examples.ReadingExample]) -> Any:
    tokenizer, longest = training.tokenizer, training.settings.longest
    encoded = tokenizer(
        [training.input_text(e) for e in batch],
        truncation=True,
        max_length=longest,
        padding=True,
        return_tensors="pt",
    )
    encoded.pop("token_type_ids", None)
    targets = tokenizer(
        text_target=[written(training.prefix, e.target) for e in batch],
        truncation=True,
        max_length=training.target_limit,
        padding=True,
        return_tensors="pt",
    )["input_ids"]
    encoded["labels"] = targets.masked_fill(targets == tokenizer.pad_token_id, -100)
    return encoded


def _claims(training: ReaderTraining, batch: Sequence[reading_examples.ReadingExample]) -> Any:
    encoded = training.tokenizer(
        [e.question for e in batch],
        [titled(e.title, e.text) for e in batch],
        truncation="longest_first",
        max_length=min(training.settings.longest, int(training.positions or MOST)),
        padding=True,
        return_tensors="pt",
    )
    encoded["labels"] = torch.tensor([LABELS.index(e.target) for e in batch])
    return encoded


_ENCODE = {"extractive": _extractive, "seq2seq": _seq2seq, "claims": _claims}


def train_reader(
    plan: LearningPlan,
    out: str | Path,
    *,
    kind: reading_examples.Kind,
    checkpoint: str,
    settings: trainer.TrainingSettings,
    options: trainer.ReaderOptions | None = None,
    device: str | None = None,
) -> trainer.Trained:
    """Train on the training records of the sources, as `train retriever` chooses them."""
    shown = options or trainer.ReaderOptions()
    shown.check(kind)
    tasks = reading_examples.chosen_tasks(kind, shown.tasks, context=shown.context is not None)
    folder, device = trainer.begin(out, device, trainer.Start(checkpoint))
    sources, unseen = reading_examples.reading_queries(plan, settings.seed, folder / "sources")
    examples, dev = (
        MappedRecords(reading_examples.ReadingExample, folder),
        MappedRecords(reading_examples.ReadingExample, folder),
    )
    for part, into in (*((s, examples) for s in sources), *((s, dev) for s in dev_sources(plan))):
        work, run = default_index_folder(part.benchmark.corpus), run_over(part.benchmark, shown.runs)
        if shown.context is None:
            all_examples, without = reading_examples.reading_examples(
                part.benchmark, part.records, kind, work,
                seed=settings.seed, negatives=shown.negatives, tasks=tasks, run=run
            )  # fmt: skip
        else:
            maker = reading_examples.ContextExamples(part.benchmark, shown.context, shown.depth, work, run)
            all_examples, without = maker.examples(part.records, tasks)
        if without:
            talk(
                f"{part.name}: {len(without)} queries teach nothing"
                " (no answer, or no gold passage that has it)"
            )
        named = (msgspec.structs.replace(e, source=e.source or part.name) for e in all_examples)
        into.extend(named if settings.per_source else all_examples)
    taught = {
        "context": shown.context or "",
        "depth": shown.depth if shown.context else 0,
        "prefix": shown.prefix,
    }
    training = ReaderTraining(
        kind, checkpoint, examples, folder, settings, held_out=dev, device=device, taught=taught, tasks=tasks
    )
    trained = training.run()
    account: dict[str, Any] = {
        "kind": kind,
        "tasks": tasks,
        "negatives": shown.negatives,
        "checkpoint": checkpoint,
    }
    account |= {"taught": training.taught, "settings": settings, "examples": len(examples)}
    taken = [source.taken for source in sources]
    trainer.write_account(folder, account, trained, examples, taken, unseen)
    return trained


def run_over(benchmark: Benchmark, places: Sequence[str]) -> Run | None:
    for place in places:
        run = Run.open(place)
        if run.folder.manifest.parents.get("benchmark") == benchmark.id:
            return run
    if places:
        talk(f"none of the runs is over {benchmark.id}: its passages come from a search")
    return None


class DprReaderTraining(trainer.Training[Example]):
    """Loss of DPR: marginal likelihood of all spans that are an answer, and a softmax over passages."""

    kept = "model"

    def __init__(
        self,
        checkpoint: str,
        examples: Sequence[Example],
        folder: Path,
        settings: trainer.TrainingSettings,
        *,
        held_out: Sequence[Example] = (),
        base: str | None = None,
        device: str | None = None,
    ) -> None:
        device = trainer.chosen_device(device)
        torch.manual_seed(settings.seed)  # of heads that are made anew
        place = trainer.place_of(checkpoint)
        self.reader = DprReaderModel.open(place, base=base, device=device, window=settings.longest)
        self.taught = Taught(
            initialisation=initialisation_of(
                place, self.reader.model, weights_fingerprint(place) if Path(place).is_dir() else ""
            )
        )
        super().__init__(
            Joined({"reader": self.reader.model}, (), self.loss),
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity(
                "dpr-reader", trainer.Start(checkpoint, base=base).identity(), examples, held_out
            ),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        rows: list[list[int]] = []
        sizes: list[int] = []
        spans: list[list[tuple[int, int]]] = []
        for example in batch:
            shown = [example.positive, *example.wrong(self.settings.kinds, self.settings.hard, epoch)]
            sizes.append(len(shown))
            spans.append(answer_spans(self.reader, example))
            rows += [self.reader.encoded(example.question, t.title, t.text)[0] for t in shown]
        starts, ends, relevance = self.reader.scores(rows)
        total, place = relevance.new_zeros(()), 0
        for size, answers in zip(sizes, spans, strict=True):
            total = total - relevance[place : place + size].log_softmax(0)[0]
            if answers:
                first, last = starts[place].log_softmax(0), ends[place].log_softmax(0)
                total = total - torch.logsumexp(torch.stack([first[a] + last[b] for a, b in answers]), 0)
            place += size
        return total / len(batch)

    def accuracy(self) -> float:
        """How often the right passage is chosen before its wrong ones, and an answer in it."""
        won = 0
        for example in self.held_out:
            shown = [example.positive, *(negative.passage for negative in example.negatives)]
            rows = [self.reader.encoded(example.question, t.title, t.text)[0] for t in shown]
            starts, ends, relevance = self.reader.scores(rows)
            span = int(starts[0].argmax()), int(ends[0].argmax())
            won += int(relevance.argmax()) == 0 and span in answer_spans(self.reader, example)
        return won / len(self.held_out)

    def save(self, folder: Path) -> None:
        self.reader.save(folder)
        write_taught(folder, self.taught)


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
    plan: LearningPlan,
    out: str | Path,
    *,
    checkpoint: str,
    settings: trainer.TrainingSettings,
    base: str | None = None,
    device: str | None = None,
) -> trainer.Trained:
    """Train on questions with a right passage that states an answer; slots are asked in words."""
    folder, device = trainer.begin(out, device, trainer.Start(checkpoint, base=base))
    data = training_data(msgspec.structs.replace(plan, in_words=True), settings, folder / "sources")
    every = data.learn if plan.dev else [*data.learn, *data.watch]
    examples = [e for e in every if states(e.positive, e.answers)]
    dev = [e for e in data.watch if states(e.positive, e.answers)] if plan.dev else []
    if len(examples) < len(every):
        talk(f"{len(every) - len(examples):,} questions teach nothing: their passage states no answer")
    if not examples:
        raise BadInput("no right passage states an answer of its question")
    training = DprReaderTraining(
        checkpoint, examples, folder, settings, held_out=dev, base=base, device=device
    )
    trained = training.run()
    account = {"kind": "dpr", "checkpoint": checkpoint, "identity": training.identity}
    trainer.write_account(folder, account, trained, examples, data.taken, data.never_seen)
    return trained


def states(passage: Text, answers: Sequence[str]) -> bool:
    return any(a and a.lower() in passage.text.lower() for a in answers)
