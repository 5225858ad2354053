"""Opening HuggingFace checkpoints for readers, and running them in batches that fit."""

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.progress import talk
from whichone.records import Question
from whichone.retrieval.dense.encoder import device_of, loading, torch_libraries

T = TypeVar("T")
R = TypeVar("R")

HEADS = {
    "AutoModelForQuestionAnswering": "ForQuestionAnswering",
    "AutoModelForSeq2SeqLM": "ForConditionalGeneration",
    "AutoModelForSequenceClassification": "ForSequenceClassification",
}


def open_checkpoint(place: str | Path, kind: str, device: str | None) -> tuple[Any, Any, str]:
    """Model, tokenizer and device; `kind` is one of transformers' Auto classes."""
    _, transformers = torch_libraries()
    device = device_of(device)
    with loading(
        f"cannot load the checkpoint {place}",
        "name a folder in HuggingFace's format, or a model that is on this machine",
    ):
        config = transformers.AutoConfig.from_pretrained(str(place))
        heads = list(getattr(config, "architectures", None) or ())
        if heads and not any(head.endswith(HEADS[kind]) for head in heads):  # it would answer at random
            named = f"it is a {', '.join(heads)}, a model {HEADS[kind]} is needed"
            raise BadInput(f"a checkpoint of the wrong kind: {named}", file=place)
        model = model_class(kind, config).from_pretrained(str(place), config=config)
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(place))
    return model.to(device).eval(), tokenizer, device


# Of a checkpoint's config: it has a classifier of questions without an answer.
NO_ANSWER = "whichone_no_answer"


def model_class(kind: str, config: Any) -> Any:
    """One of transformers' Auto classes; of a reader with a no-answer head the class that has it."""
    import transformers

    auto = getattr(transformers, kind)
    return _with_no_answer(auto._model_mapping[type(config)]) if getattr(config, NO_ANSWER, False) else auto


@functools.cache
def _with_no_answer(kind: Any) -> Any:
    """A model for questions with a classifier on its first token that says there is no answer (AmbER, appendix E).

    Its spans are trained on the texts that have an answer, the classifier on all of them.
    """
    import torch
    from transformers.modeling_outputs import QuestionAnsweringModelOutput

    @dataclass
    class NoAnswerOutput(QuestionAnsweringModelOutput):  # type: ignore[misc]  # made anew of its fields by trainers
        no_answer_logits: Any = None

    class WithNoAnswer(kind):  # type: ignore[misc]  # known when a checkpoint is opened
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.no_answer = torch.nn.Linear(config.hidden_size, 1)
            self.post_init()

        def forward(
            self, *args: Any, start_positions: Any = None, end_positions: Any = None, **given: Any
        ) -> Any:
            out = super().forward(*args, **{**given, "output_hidden_states": True, "return_dict": True})
            logits = self.no_answer(out.hidden_states[-1][:, 0])[:, 0]
            loss = None
            if start_positions is not None:
                functional = torch.nn.functional
                none = start_positions == 0
                ends = ((out.start_logits, start_positions), (out.end_logits, end_positions))
                spans = sum(functional.cross_entropy(*end, reduction="none") for end in ends) / 2
                classified = functional.binary_cross_entropy_with_logits(logits, none.to(logits.dtype))
                loss = (spans * ~none).sum() / (~none).sum().clamp(min=1) + classified
            return NoAnswerOutput(loss, out.start_logits, out.end_logits, no_answer_logits=logits)

    WithNoAnswer.__name__ = kind.__name__
    return WithNoAnswer


def weights_fingerprint(place: str | Path) -> str:
    """The hash of a local checkpoint's weights; empty for one that is known by name only."""
    digest = hashlib.sha256()
    files = sorted([*Path(place).glob("*.safetensors"), *Path(place).glob("pytorch_model*.bin")])
    for file in files:
        with file.open("rb") as data:
            while block := data.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16] if files else ""


def in_batches(work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], size: int) -> Iterator[R]:
    """Results item by item; where memory runs out the batch is halved, and that is said."""
    import torch

    at = 0
    while at < len(items):
        try:
            yield from work(items[at : at + size])
        except torch.OutOfMemoryError:
            if size == 1:
                raise BadInput(
                    "one text alone does not fit into memory", hint="a smaller model or --depth"
                ) from None
            size //= 2
            torch.cuda.empty_cache()
            talk(f"out of memory: going on with batches of {size}")
            continue
        at += size


SHARED = 16  # Batches of items that several tasks share: so many may be lost when a reader is stopped


def shared_batches(
    work: Callable[[Sequence[T]], Sequence[R]],
    tasks: Iterable[Sequence[T]],
    size: int,
    length: Callable[[T], int],
) -> Iterator[list[R]]:
    """The results of each task's items; tasks share batches, in which items of like length are together."""
    held: list[Sequence[T]] = []
    for task in itertools.chain(tasks, [None]):
        if task is not None:
            held.append(task)
            if sum(map(len, held)) < SHARED * size:
                continue
        items = [item for items in held for item in items]
        order = sorted(range(len(items)), key=lambda n: -length(items[n]))
        results = dict(zip(order, in_batches(work, [items[n] for n in order], size), strict=True))
        numbers = iter(range(len(items)))
        for items_of_task in held:
            yield [results[n] for n in itertools.islice(numbers, len(items_of_task))]
        held = []


# What a reader's checkpoint began as, and how it was taught to read: `reading.json` beside its weights.


FILE = "reading.json"


class Initialisation(msgspec.Struct, frozen=True):
    """The checkpoint that a training began with, by its own name, kind and size."""

    checkpoint: str
    model_type: str
    parameters: int
    weights: str = ""  # The hash of its weights, where they were a folder

    def label(self) -> str:
        """As rows of tables name it: a small BART is never called by the large one's name."""
        return f"{self.checkpoint} {size(self.parameters)}"


class Taught(msgspec.Struct, frozen=True, kw_only=True):
    """How a model was shown its inputs in training; reading does the same unless asked otherwise."""

    initialisation: Initialisation
    context: str = ""  # none, gold or retrieved passages before the question; empty: passages one by one
    depth: int = 0
    longest: int = 0  # Tokens of the longest target
    prefix: str = ""


def size(parameters: int) -> str:
    millions = parameters / 1e6
    return f"{millions:.0f}M" if millions >= 10 else f"{millions:.2g}M"


def initialisation_of(place: str | Path, model: Any, weights: str = "") -> Initialisation:
    """What a model to be trained began as; what was trained before keeps its first name."""
    if (taught := read_taught(place)) is not None:
        return taught.initialisation
    return Initialisation(
        Path(place).name or str(place),
        str(getattr(model.config, "model_type", "")),
        sum(p.numel() for p in model.parameters()),
        weights,
    )


def read_taught(place: str | Path) -> Taught | None:
    """What a training wrote beside the weights; None for a checkpoint from elsewhere."""
    file = Path(place) / FILE
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=Taught)
    except msgspec.DecodeError as error:
        raise BadInput(f"not what a reader's training wrote: {error}", file=file) from error


def write_taught(place: Path, taught: Taught) -> None:
    write_described(place / FILE, taught)


def write_described(file: Path, what: msgspec.Struct) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(what), indent=2) + b"\n")


TRAINED_TASKS = "whichone_tasks"  # Of a checkpoint's config: the tasks that `train reader` taught it
QUESTIONS = ("qa", "sf", "EntityQuestions", "PAQ")  # Tasks whose answer may be a stretch of a passage


def as_question(question: Question) -> str:
    """The question's text; a slot by template: `Nike [SEP] country` becomes "What is the country of Nike?"."""
    subject, mark, relation = question.text.partition("[SEP]")
    if question.task != "sf" or not mark:
        return question.text
    return f"What is the {relation.strip()} of {subject.strip()}?"


def titled(title: str, text: str) -> str:
    """A passage as every reader sees it."""
    return f"{title} | {text}"


class CheckpointReader:
    """A model with the head of its kind, read in batches through a window of tokens.

    A row is called by its kind and by what the checkpoint was initialised from.
    """

    name: str
    head: ClassVar[str]  # One of transformers' Auto classes
    settings: ClassVar[tuple[str, ...]]  # The attributes that a folder of answers names, besides the model
    can_do: ClassVar[tuple[str, ...]] = ()  # The tasks of readers of this kind; none: any

    def __init__(self, model: str | Path, device: str | None, *, window: int, batch: int) -> None:
        self.place, self.batch = model, int(batch)
        self._model, self._tokenizer, self._device = open_checkpoint(model, self.head, device)
        limit = getattr(self._model.config, "max_position_embeddings", None) or window
        self.window = min(int(window), int(limit))
        self.tasks = tuple(getattr(self._model.config, TRAINED_TASKS, None) or ()) or self.can_do
        self.taught = read_taught(model)
        self.initialisation = initialisation_of(model, self._model)
        self.name = f"{type(self).name} {self.initialisation.label()}"

    @classmethod
    def over(cls, corpus: Corpus, model: str, **options: Any) -> Self:
        return cls(model, **options)

    def pieces(self, text: str, room: int) -> list[str]:
        """The text in pieces of so many tokens; an empty one is one piece."""
        tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return [self._tokenizer.decode(tokens[i : i + room]) for i in range(0, max(1, len(tokens)), room)]

    def describe(self) -> dict[str, Any]:
        return {
            "reader": type(self).name,
            "model": str(self.place),
            "weights": weights_fingerprint(self.place),
            "initialisation": msgspec.to_builtins(self.initialisation),
            **{name: getattr(self, name) for name in self.settings},
        }
