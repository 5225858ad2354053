"""What a training is, whichever library trains: settings, batches, the folder, devices and interrupts."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shutil
import signal
import threading
import tomllib
from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from whichone.errors import BadInput, Missing, UsageError, must_be_one, needs, sample
from whichone.files.folder import file_hash
from whichone.files.lines import read_json, write_atomic, write_json_lines
from whichone.files.output import may_overwrite
from whichone.options import Option, Seed
from whichone.progress import process_number, talk
from whichone.progress import progress as bar
from whichone.records import Query
from whichone.retrieval.dense import encoder
from whichone.retrieval.dense.dense import Index
from whichone.retrieval.dense.encoder import model_folder, unknown_model, weights_hash
from whichone.retrieval.dense.vectors import Precision
from whichone.versions import environment

# The folder of a training: what was begun in it, and what it came to.


CHECKPOINTS = "checkpoints"
FILE = "progress.json"


class Trained(msgspec.Struct, frozen=True):
    """What a training came to; `steps` counts the updates of the weights."""

    epochs: int
    steps: int
    losses: list[float]
    held_out: list[float]
    best_epoch: int


class Begun(msgspec.Struct, frozen=True):
    """A training's identity, and its outcome once there is one."""

    identity: dict[str, Any]
    trained: Trained | None = None


def begin(out: str | Path, device: str | None, start: Start | None = None) -> tuple[Path, str]:
    """The folder and the device of a training, or what is wrong with what it is given."""
    folder, device = Path(out), chosen_device(device)
    if process_number():
        meet_once(device)
    if folder.exists() and not folder.is_dir():
        raise UsageError("this is a file, a folder is wanted", where=str(out))
    if (folder / "manifest.json").exists():
        raise UsageError(
            "this folder contains a benchmark, run or knowledge base",
            where=str(out),
            hint="name a new folder to train into, last",
        )
    if may_overwrite(folder) and not process_number():
        for begun in folder.rglob(FILE):
            shutil.rmtree(begun.parent / CHECKPOINTS, ignore_errors=True)
            begun.unlink()
    if start is not None:
        start.check()
    quiet_libraries()
    return folder, device


def begun_in(folder: Path, identity: dict[str, Any]) -> Trained | None:
    """What the same training came to here; None where it is not done. Another one is refused."""
    wanted = msgspec.json.decode(msgspec.json.encode(identity))
    file = folder / FILE
    if not file.exists():
        _write_progress(folder, Begun(wanted))
        return None
    begun = read_json(file, Begun)
    held = begun.identity
    other = [key for key in sorted({*held, *wanted}) if held.get(key) != wanted.get(key)]
    if "settings" in other:
        a, b = held.get("settings") or {}, wanted.get("settings") or {}
        changed = [f"{k} {a.get(k)}, now {b.get(k)}" for k in sorted({*a, *b}) if a.get(k) != b.get(k)]
        other[other.index("settings")] = f"settings: {'; '.join(changed)}"
    if other:
        raise UsageError(
            f"another training was begun here ({', '.join(other)})",
            where=str(folder),
            hint="name another folder, or start over with --overwrite",
        )
    return begun.trained


def _write_progress(folder: Path, begun: Begun) -> None:
    if not process_number():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / FILE, msgspec.json.format(msgspec.json.encode(begun), indent=1) + b"\n")


def write_account(
    folder: Path,
    account: dict[str, Any],
    trained: Trained | None = None,
    examples: Iterable[Any] = (),
    sources: Sequence[Any] = (),
    unseen: Iterable[Query] = (),
) -> None:
    """What was learned from, by which settings, and what it came to: `training.json`, beside the examples."""
    if process_number():
        return
    if trained is not None:
        write_json_lines(folder / "examples.jsonl", examples)
        came = {"losses": trained.losses, "held_out": trained.held_out, "sources": sources}
        account = {**account, **came, "never_seen": [query.id for query in unseen]}
    file, same = folder / "training.json", msgspec.json.decode(msgspec.json.encode(account))
    before = read_json(file, dict[str, Any]) if file.exists() else {}
    if {name: value for name, value in before.items() if name != "made"} == same:
        return  # it was made when it was trained
    document = msgspec.json.encode({**account, "made": environment()})
    write_atomic(file, msgspec.json.format(document, indent=2) + b"\n")


def save_model(save: Callable[[Path], object], folder: Path) -> None:
    """A model in its own format; what was there before stays until the new one is whole."""
    if process_number():
        return
    beside, old = (folder.with_name(f".{folder.name}.partial"), folder.with_name(f".{folder.name}.old"))
    if old.exists() and not folder.exists():  # killed between the two moves
        old.rename(folder)
    for left_over in (beside, old):
        shutil.rmtree(left_over, ignore_errors=True)
    save(beside)
    if folder.exists():
        folder.rename(old)
    beside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


# Several processes that train together, as torchrun and accelerate start them: the first alone writes.


def processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def meet(device: str) -> None:
    """Wait until all processes are here."""
    if processes() > 1:
        from accelerate import PartialState

        PartialState(cpu=device == "cpu", timeout=timedelta(days=1)).wait_for_everyone()


meet_once = functools.cache(meet)  # Where the others wait until the first has what is learned from


class LinkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What BLINK's two stages learn from, and how many entities the second one reads."""

    corpus: Annotated[
        str,
        Option(
            "The corpus whose pages are the entities: title and first passage describe each.", kind="folder"
        ),
    ]
    checkpoint: Annotated[str, Option("A BERT to start from: bert-large-uncased in the paper.")]
    held_out: Annotated[
        tuple[str, ...],
        Option("Files of the same kind to watch; the best epoch there is kept.", kind="exists"),
    ] = ()
    candidates: Annotated[int, Option("Entities for the second stage.")] = 64
    cross_batch: Annotated[int, Option("Mentions a batch of that stage.")] = 2
    cross_epochs: Annotated[
        int | None,
        Option("Epochs of that stage, which costs as much more as it has candidates. [default: as --epochs]"),
        Meta(ge=1),
    ] = None
    learn_from_dev: Annotated[
        bool,
        Option("Learn from files and benchmarks marked dev or test as well; without it they are refused."),
    ] = False


class ReaderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader is shown in training, and which tasks; without `context` one passage a time."""

    context: Annotated[
        Literal["none", "gold", "retrieved"] | None,
        Option(
            "seq2seq: passages before the question, for every task (BART, T5, BART + DPR); without it one passage at a time, wrong ones as none (AmbER)."
        ),
    ] = None
    depth: Annotated[int, Option("With --context: at most so many passages.")] = 3
    runs: Annotated[
        tuple[str, ...],
        Option(
            "A run over a SOURCE: its first passages with --context retrieved, its best wrong page without --context; a search where there is none.",
            flags=("--run",),
            kind="path",
        ),
    ] = ()
    prefix: Annotated[str, Option("seq2seq: text before every input; {task} is the task's name.")] = ""
    negatives: Annotated[
        Literal["bm25", "tfidf", "namesake", "kilt"],
        Option(
            "Whose best wrong page is shown as one without an answer; AmbER's paper: tfidf; KILT's claims: kilt, BM25's and another passage of the gold pages."
        ),
    ] = "bm25"
    tasks: Annotated[
        tuple[str, ...], Option("Learn this task only; the reader then answers no other.", flags=("--task",))
    ] = ()

    def check(self, kind: str) -> None:
        if kind != "seq2seq" and (self.context or self.prefix):
            raise UsageError("--context and --prefix are for readers that are seq2seq")
        if self.depth < 1:
            raise UsageError("--depth must be at least 1")
        if self.runs and self.context not in (None, "retrieved"):
            raise UsageError("--run goes with --context retrieved, or without --context")


class RagStart(msgspec.Struct, frozen=True, kw_only=True):
    """A RAG checkpoint, or DPR's question encoder and a generator; and the fixed passage encoder."""

    checkpoint: Annotated[str | None, Option("A RAG checkpoint in Hugging Face's format to go on from.")] = (
        None
    )
    question_encoder: Annotated[
        str | None, Option("Or DPR's question encoder, or a pair's folder, with ...")
    ] = None
    generator: Annotated[str | None, Option("... a BART or T5 checkpoint.")] = None
    passage_encoder: Annotated[
        str | None, Option("Whose vectors are the index, and stay; the pair's other half.")
    ] = None
    marginal: Annotated[
        Literal["sequence", "token"] | None,
        Option("RAG-Sequence or RAG-Token; else what the checkpoint is, or sequence."),
    ] = None


class RagOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`search`, `index`, `precision` and `vectors` are those of the retriever `dense`."""

    documents: Annotated[int, Option("Documents a question."), Meta(ge=1)] = 5
    reencode: Annotated[
        Literal["step", "epoch", "never"],
        Option("How often questions are encoded anew to find their documents."),
    ] = "step"
    search: Annotated[
        str, Option("Where documents are looked for: numpy, or a torch device such as cuda.")
    ] = "numpy"
    index: Annotated[Index, Option("How: exactly, or by an index of faiss or usearch.")] = "exact"
    precision: Annotated[Precision, Option("Of the passages' vectors on disk.")] = "float16"
    vectors: Annotated[str | None, Option("Files of passage vectors that others published.")] = None


class Start(msgspec.Struct, frozen=True):
    """`checkpoint` is a folder, an installed package, a model's name, or a file of DPR's own.

    `passages` is the passage encoder where it is another one; `base` the folder of the BERT that a
    file of DPR's own belongs to (config.json, vocab.txt).
    """

    checkpoint: Annotated[
        str,
        Option("What to start from: a sentence-transformers or DPR folder, a package, a name, a DPR file."),
    ]
    passages: Annotated[
        str | None,
        Option("The passage encoder, where it is another one (DPR).", flags=("--passage-checkpoint",)),
    ] = None
    base: Annotated[str | None, Option("The BERT folder that a checkpoint file of DPR's own belongs to.")] = (
        None
    )

    def check(self) -> None:
        """Fail before any data is made where it is known that there is no such model."""
        for model_name in (self.checkpoint, self.passages, self.base):
            if model_name is not None:
                _check_place(place_of(model_name), model_name)

    def identity(self) -> dict[str, Any]:
        """The same for the same weights, wherever they lie."""
        identity = {"checkpoint": _identity(self.checkpoint)}
        if self.passages is not None:
            identity["passage_checkpoint"] = _identity(self.passages)
        return identity


def place_of(checkpoint: str) -> str:
    """The folder or file that is meant; a name that is neither is left to the hub's own cache."""
    if Path(checkpoint).exists():
        return checkpoint
    if (packaged := model_folder(checkpoint)) is not None:
        return str(packaged)
    if checkpoint.startswith(("/", "./", "../", "~")):
        raise Missing("there is no such folder or file", where=checkpoint)
    return checkpoint


def _check_place(place: str, given: str) -> None:
    if Path(place).is_dir():
        parts = ("config.json", "modules.json", "questions/config.json")
        if not any((Path(place) / part).exists() for part in parts):
            raise Missing(
                "no model is in this folder",
                where=given,
                hint="a sentence-transformers, transformers or DPR folder has a config.json",
            )
    if Path(place).exists():
        return
    with needs("sentence-transformers", "train"):
        from huggingface_hub import try_to_load_from_cache
    names = (given, f"sentence-transformers/{given}") if "/" not in given else (given,)
    if not any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names):
        raise unknown_model(names[-1])


def _identity(checkpoint: str) -> str:
    place = Path(place_of(checkpoint))
    if place.is_file():
        return file_hash(place)[:16]
    parts = [weights_hash(place / part) for part in ("", "questions", "passages")]
    return "+".join(part for part in parts if part) or checkpoint


def loading(checkpoint: str) -> AbstractContextManager[None]:
    """A model that a library cannot load is named, with what would do."""
    return encoder.loading(
        f"cannot load the checkpoint {checkpoint}",
        "name a folder of a model of this kind, an installed package that carries one, or a model that is on this machine",
    )


def chosen_device(given: str | None) -> str:
    """The device that is meant: a GPU where there is one, unless another is given."""
    with needs("torch", "train"):
        import torch
    if given is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(given)
    except RuntimeError:
        raise UsageError(f"there is no device called {given!r}", hint="cuda or cpu") from None
    if place.index:  # the libraries' trainers take the first that they see
        raise UsageError(
            f"a training takes the first GPU that it sees, not {given}",
            hint=f"CUDA_VISIBLE_DEVICES={place.index} whichone train ... --device cuda",
        )
    if place.type == "cuda" and not torch.cuda.is_available():
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
    except (RuntimeError, MemoryError) as error:
        short = isinstance(error, torch.cuda.OutOfMemoryError | MemoryError)
        if not short and "can't allocate memory" not in str(error):
            raise
        asked = f"batches of {batch} with texts of up to {longest} tokens"
        raise Missing(
            f"too little memory for {asked}. {next(iter(str(error).splitlines()), '')}".strip(),
            hint="a smaller --batch, --longest or --hard, into another folder: the outcome is another one",
        ) from error


# How a retriever is trained: everything that decides the outcome, and the papers' presets.


Mode = Literal["both", "only-questions", "only-passages"]
KINDS = ("bm25", "namesake", "given")


class TrainingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`warmup` below 1 is a share of all steps, else a number of steps.

    `mode`: both towers learn (one shared encoder where the checkpoint is one), or one of them while
    the other stays as it is: then an index of passages stays valid, or questions do. `scale` is what
    closeness is multiplied by: 20 for cosines, 1 for DPR's inner products where it is not given.
    `towers=dpr` turns a BERT into DPR's two encoders, whose vectors are those of their first token.
    """

    kinds: Annotated[
        tuple[str, ...],
        Option(
            "Kinds of wrong passages: bm25, namesake, given (DPR's own), or none."
            " [default: bm25,namesake; the preset dpr: bm25]",
            flags=("--negatives",),
            kind="words",
        ),
    ] = ("bm25", "namesake")
    epochs: Annotated[int, Option("Times through all examples."), Meta(ge=1)] = 4
    batch: Annotated[int, Option("Examples of a step, whose others are wrong passages."), Meta(ge=2)] = 32
    learning_rate: Annotated[float, Option("The highest, after the warm-up."), Meta(gt=0, lt=1e38)] = 2e-5
    longest: Annotated[int, Option("Tokens a text may have."), Meta(ge=8)] = 256
    hard: Annotated[int, Option("Wrong passages of each kind an example brings."), Meta(ge=1)] = 1
    others: Annotated[
        int, Option("Right passages of the batch's others shown as wrong. [default: 3]"), Meta(ge=0)
    ] = 3
    per_source: Annotated[
        int, Option("Draw so many examples of each SOURCE an epoch, a batch of one, in turn.")
    ] = 0
    patience: Annotated[int, Option("Epochs without gain on what is watched until it stops; 0 never.")] = 3
    accumulate: Annotated[int, Option("Batches whose gradients are added up before a step."), Meta(ge=1)] = 1
    every: Annotated[
        int,
        Option("Steps between checkpoints, beside those at the end of every epoch and at a signal to stop."),
        Meta(ge=1),
    ] = 200
    mode: Annotated[Mode, Option("Which encoders learn.")] = "both"
    size: Annotated[
        int, Option("late: numbers a token has, where it starts anew. [default: 128]"), Meta(ge=1)
    ] = 128
    flops: Annotated[
        float, Option("sparse: how much many words cost. [default: 0.0003]"), Meta(ge=0, lt=1e38)
    ] = 3e-4
    seed: Seed = 0
    warmup: float = 0.1
    clip: float = 2.0
    scale: float | None = None
    weight_decay: float = 0.01
    towers: Literal["", "dpr"] = ""

    def check(self) -> TrainingSettings:
        """Itself, where every field is within its bounds."""
        try:
            checked = msgspec.convert(msgspec.to_builtins(self), TrainingSettings)
        except msgspec.ValidationError as error:
            raise UsageError(f"settings of a training: {error}") from None
        if self.per_source and self.per_source < self.batch:
            raise UsageError(f"{self.per_source} examples of a source do not fill one batch of {self.batch}")
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise UsageError(
                f"there are no negatives called {sample(unknown)}",
                hint=f"{', '.join(KINDS)}, or none for in-batch ones only",
            )
        return checked


def preset(name: str, **changes: Any) -> TrainingSettings:
    known = tomllib.loads(files("whichone.training").joinpath("presets.toml").read_text("utf-8"))
    must_be_one(name, known, f"there is no preset {name!r}")
    given = {k: v for k, v in changes.items() if v is not None}
    if given.get("kinds") == ("none",):
        given["kinds"] = ()
    return TrainingSettings(**{**known[name], **given}).check()


# An interrupt while a model learns: the step under way is finished and kept before the process ends.


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_wait() -> Iterator[list[int]]:
    """SIGINT and SIGTERM are noted, and the first takes effect after the block, a second one at once.

    Outside the main thread nothing changes.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            signal.signal(number, before[number])
            signal.raise_signal(number)

    before: dict[int, Any] = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if len(asked) == 1:
        signal.raise_signal(asked[0])
        raise KeyboardInterrupt


class LearnedFrom(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...


E = TypeVar("E", bound=LearnedFrom)


def identity_with(identity: dict[str, Any], settings: TrainingSettings) -> dict[str, Any]:
    """A training's identity with the settings that decide what is learned: how often it is kept does not."""
    decides = msgspec.to_builtins(settings)
    decides.pop("every")
    return {**identity, **({"processes": processes()} if processes() > 1 else {}), "settings": decides}


def by_source(examples: Sequence[LearnedFrom]) -> list[npt.NDArray[np.int64]]:
    """The rows of each source, sources in the order of their names."""
    places: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    for place, example in enumerate(examples):
        places[example.source].append(place)
    return [np.asarray(listed, np.int64) for _, listed in sorted(places.items())]


def round_robin(
    sources: Sequence[npt.NDArray[np.int64]], batch: int, per_source: int, seed: int, epoch: int
) -> list[npt.NDArray[np.int64]]:
    """The batches of an epoch: `per_source` rows of each dataset, drawn anew by seed and epoch.

    A dataset with fewer is drawn from more than once, each of its examples about equally often.
    """
    turns = []
    for place, held in enumerate(sources):
        generator = np.random.default_rng([seed, epoch, place])
        rounds = -(-per_source // len(held))
        drawn = np.concatenate([generator.permutation(len(held)) for _ in range(rounds)])
        turns.append([held[drawn[at : at + batch]] for at in range(0, per_source - batch + 1, batch)])
    return [item for turn in zip(*turns, strict=True) for item in turn]


class Training(ABC, Generic[E]):
    """One training run into one folder, by a library's trainer; started again it goes on from its last checkpoint.

    `model` is what that trainer trains, `library` its class, `criterion` the loss where the class wants one.
    What is learned from `examples` is watched on `held_out`: the best epoch there is the model's.
    """

    library = "Trainer"
    criterion: Any = None
    kept = "best"  # The folder of the best epoch on what is held out, or of the last one
    shown: Sequence[str] = ()  # The ids of the batch that the last loss is of

    def __init__(
        self,
        model: Any,
        examples: Sequence[E],
        held_out: Sequence[E],
        folder: Path,
        settings: TrainingSettings,
        *,
        device: str,
        identity: dict[str, Any],
    ) -> None:
        self.model = model
        self.examples, self.held_out = examples, held_out
        self.folder, self.settings, self.device = folder, settings, device
        self.identity = identity_with(identity, settings)
        self._sources = by_source(examples) if settings.per_source else []
        self.steps = len(examples) // settings.batch
        if settings.per_source:
            self.steps = len(self._sources) * (settings.per_source // settings.batch)
        if self.steps < processes():
            each = f" for each of {processes()} processes" if processes() > 1 else ""
            problem = f"{len(examples)} examples do not fill one batch of {settings.batch}{each}"
            raise BadInput(problem, hint="more examples, or a smaller --batch")
        self.updates = -(-(self.steps // processes()) // settings.accumulate)

    @abstractmethod
    def save(self, folder: Path) -> None:
        """The model as those who use it read it."""

    def collate(self, batch: Sequence[E], epoch: int) -> dict[str, Any]:
        """What the model is called with."""
        return {"batch": batch, "epoch": epoch}

    def accuracy(self) -> float:
        """How often the held-out examples are answered rightly; called without gradients."""
        return float("nan")

    def batches(self, epoch: int) -> Iterable[npt.NDArray[np.int64]]:
        """The epoch's batches in an order that only seed and epoch decide."""
        seed, size = self.settings.seed, self.settings.batch
        if self.settings.per_source:
            return round_robin(self._sources, size, self.settings.per_source, seed, epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(self.examples))
        return (order[n * size : (n + 1) * size] for n in range(self.steps))

    def run(self) -> Trained:
        meet_once(self.device)
        if (done := begun_in(self.folder, self.identity)) is not None:
            talk(f"{self.folder}: this training is done, nothing is left to learn")
            return done
        from whichone.training.loop import losses_of, train

        with (
            enough_memory(self.settings.batch, self.settings.longest),
            bar("training", self.updates * self.settings.epochs, "steps") as advance,
            signals_wait() as asked,
        ):
            state = train(self, advance, asked)
            meet(self.device)
        watched = [entry["eval_accuracy"] for entry in state.log_history if "eval_accuracy" in entry]
        best = watched.index(max(watched)) if watched else -1
        losses = losses_of(state)
        trained = Trained(len(losses), state.global_step, losses, watched, best)
        save_model(self.save, self.folder / self.kept)
        _write_progress(self.folder, Begun(self.identity, trained))
        if not process_number():
            shutil.rmtree(self.folder / CHECKPOINTS)
        meet(self.device)
        return trained

    def must_be_finite(self, what: str, value: Any, state: Any) -> None:
        """Before the weights are touched, so that no checkpoint contains what is not a number."""
        import torch

        if torch.isfinite(value):
            return
        kept = "the last good checkpoint stays" if state.global_step else "there is no checkpoint yet"
        epoch, step = divmod(state.global_step, self.updates)
        raise BadInput(
            f"the {what} is not finite in epoch {epoch + 1}, step {step + 1}",
            ids=self.shown,
            hint=f"{kept}; a smaller --learning-rate may help",
        )
