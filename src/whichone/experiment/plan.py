"""The file of an experiment, as TOML: which benchmarks, retrievers, readers and settings."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.prompt import DEFAULT, find_prompt
from whichone.errors import BadInput, UsageError, WhichoneError, did_you_mean, sample
from whichone.files.folder import Folder, file_hash
from whichone.files.lines import read_toml
from whichone.files.manifest import MANIFEST
from whichone.options import Allow, Option
from whichone.registry import find, names, target
from whichone.runs.read import joined_name
from whichone.runs.run_options import ShownOptions
from whichone.runs.shown import KINDS, Setting, setting_for

# Retrievers that start from finished runs, and the option that names them.
OF_RUNS = {"fusion": "runs", "rerank": "run"}


class ExperimentOptions(msgspec.Struct, frozen=True, kw_only=True):
    out: Annotated[str | None, Option("Folder of the cells.", kind="path")] = None
    dry_run: Annotated[bool, Option("Show what would run, with estimated time and cost.")] = False
    report: Annotated[
        str | None,
        Option("Write a report of this experiment's own cells, a page for each benchmark.", kind="written"),
    ] = None
    allow: Allow = ()


class RetrieverPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A retriever by its registered name or as `module:function`, with its options.

    `of` are the names of retrievers above it whose runs `fusion` fuses or `rerank` re-orders.
    """

    retriever: str
    name: str = ""
    k: int = 100
    of: list[str] = []
    options: dict[str, Any] = {}

    @property
    def label(self) -> str:
        return self.name or self.retriever.rpartition(":")[2]


class ReaderPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reader by its registered name or as `module:function`, with its options.

    `of` are the retrievers whose runs it reads, `passages` the settings it is read in; all where none is named.
    """

    reader: str
    name: str = ""
    of: list[str] = []
    passages: list[str] = []
    options: dict[str, Any] = {}

    @property
    def label(self) -> str:
        return self.name or self.reader.rpartition(":")[2]


class SettingPlan(ShownOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What readers are shown.

    Several `seeds` give a cell each: what the order of the passages does, if they are shuffled.
    """

    passages: str  # type: ignore[assignment]  # one that does not exist is refused with the others' names
    seeds: tuple[int, ...] = ()


class TrainingPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `whichone train` that is done before the cells, unless OUT has finished already."""

    train: str  # retriever, reranker, reader, rag or linker
    sources: list[str]
    out: str
    options: dict[str, Any] = {}  # By the names of the command's options; true for a flag

    @property
    def words(self) -> list[str]:
        words = ["train", self.train, *self.sources, self.out]
        for name, value in self.options.items():
            flag = f"--{name.replace('_', '-')}"
            for each in value if isinstance(value, list) else [value]:
                words += [flag] if each is True else [flag, str(each)]
        return words

    @property
    def done(self) -> bool:
        return (Path(self.out) / "training.json").is_file()


STEPS = ("build", "corpus", "export", "import", "ingest", "retrieve", "train")


class StepPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `whichone` command that is done before the trainings and cells, in the order of the file, unless OUT is there.

    A word with `*` is replaced by the files that it names.
    """

    command: list[str]
    out: str

    @property
    def words(self) -> list[str]:
        named = (
            [*map(str, sorted(Path(w).parent.glob(Path(w).name)))] if "*" in w else [w] for w in self.command
        )
        return [word for words in named for word in words]

    @property
    def done(self) -> bool:
        end = {"train": "training.json", "export": ""}.get(self.command[0], MANIFEST)
        return (Path(self.out) / end).exists()


class ImportedPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of a system that is not run here: a folder of answers, or of a run, that was imported."""

    name: str
    folder: str


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is crossed; `limit` asks only so many questions of each benchmark, drawn by name."""

    benchmarks: list[str]
    step: list[StepPlan] = []
    training: list[TrainingPlan] = []
    imported: list[ImportedPlan] = []
    retriever: list[RetrieverPlan] = []
    reader: list[ReaderPlan] = []
    setting: list[SettingPlan] = []
    name: str = ""
    out: str | None = None
    seed: int = 0
    limit: int | None = None
    measures: list[str] = []
    retrieval_measures: list[str] = []

    @property
    def first(self) -> list[StepPlan | TrainingPlan]:
        """What is done before the cells, in this order."""
        return [*self.step, *self.training]


def read_plan(path: str | Path, allow: Sequence[str] | None = None) -> Plan:
    """The plan in a file, checked: what is crossed must be there, and own code in `allow` (None: not to be run)."""
    file = Path(path)
    plan = read_toml(file, Plan, "an experiment")
    _check(plan, file)
    if allow is not None:
        _check_code(plan, file, allow)
    return plan


def _check_code(plan: Plan, file: Path, allow: Sequence[str]) -> None:
    """A file may be anybody's: a person names the code in it that runs, and before anything is done."""
    named = [each.retriever for each in plan.retriever] + [each.reader for each in plan.reader]
    named += [str(each.options.get("make", "")) for each in plan.retriever]
    words = [word for each in plan.first for word in each.words]
    named += [
        code[1]
        for word in words
        if (code := re.fullmatch(r"(?:.*=)?([A-Za-z_][\w.]*:[A-Za-z_][\w.]*)", word))
    ]
    named += [measure.rpartition("@")[0] or measure for measure in plan.measures + plan.retrieval_measures]
    named = [name for name in named if ":" in name]
    named += [str(each.options["jar"]) for each in plan.retriever if "jar" in each.options]
    if unknown := [name for name in dict.fromkeys(named) if name not in allow]:
        raise UsageError(
            f"it names code that would run with your rights: {sample(unknown)}",
            where=str(file),
            hint=f"look at what it does, then give {' '.join(f'--allow {name}' for name in unknown)}",
        )


def _check(plan: Plan, file: Path) -> None:
    if not plan.benchmarks:
        raise BadInput("it names no benchmark", file=file, hint='benchmarks = ["builtin/amber"]')
    if not plan.retriever and not plan.reader:
        raise BadInput("it names neither a [[retriever]] nor a [[reader]]", file=file)
    if plan.reader and not plan.setting:
        raise BadInput("it has readers but no [[setting]]", file=file, hint='[[setting]] passages = "gold"')
    if unknown := [s.passages for s in plan.setting if s.passages not in KINDS]:
        raise UsageError(f"passages = {unknown[0]!r}", where=str(file), hint=f"one of {', '.join(KINDS)}")
    if any("retrieved" in s.passages for s in plan.setting) and not plan.retriever:
        raise BadInput("a setting shows retrieved passages, but there is no [[retriever]]", file=file)
    for kind, labels in (
        ("retriever", [r.label for r in plan.retriever]),
        ("reader", [r.label for r in plan.reader]),
    ):
        if twice := sorted({label for label in labels if labels.count(label) > 1}):
            raise BadInput(f"two [[{kind}]] are called {twice[0]!r}", file=file, hint="give each a name")
    _check_of(plan, file)
    if plan.limit is not None and plan.limit < 1:
        raise BadInput("limit must be at least 1", file=file)
    for step in plan.step:
        if not step.command or step.command[0] not in STEPS:
            raise BadInput(f"no [[step]] is {step.command[:1]}", file=file, hint=f"one of {', '.join(STEPS)}")
    for reader in plan.reader:
        for of in reader.of:
            if of not in (known := [each.label for each in plan.retriever]):
                raise BadInput(
                    f"{reader.label!r} reads runs of {of!r}, which is no [[retriever]]",
                    file=file,
                    hint=did_you_mean(of, known),
                )


def _check_of(plan: Plan, file: Path) -> None:
    """What is fused or re-ordered appears earlier in the file, so that its run is there."""
    above: list[str] = []
    for each in plan.retriever:
        if each.of and each.retriever not in OF_RUNS:
            raise BadInput(
                f"{each.label!r}: {each.retriever} takes no finished runs",
                file=file,
                hint=f"`of` goes with {' or '.join(OF_RUNS)}",
            )
        for other in each.of:
            if other not in above:
                raise BadInput(
                    f"{each.label!r} is of {other!r}, and no [[retriever]] above it has this name",
                    file=file,
                    hint=did_you_mean(other, above),
                )
        if len(each.of) > 1 and each.retriever == "rerank":
            raise BadInput(f"{each.label!r}: rerank re-orders one run", file=file)
        above.append(each.label)


# The cells of an experiment: each a folder, keyed by the hash of everything it depends on.


_Status = Literal["done", "begun", "to do"]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run or one folder of answers; `run` is the cell it reads from."""

    kind: Literal["run", "answers"]
    benchmark: str
    name: str
    key: str
    path: Path
    retriever: RetrieverPlan | None = None
    reader: ReaderPlan | None = None
    setting: Setting | None = None
    run: Cell | None = None
    starts: tuple[str, ...] = ()  # Keys of the runs that this one fuses or re-orders

    @property
    def status(self) -> _Status:
        try:
            Folder.open(self.path, self.kind)
        except WhichoneError:
            return "begun" if (self.path / ".partial").exists() else "to do"
        return "done"


def cells(plan: Plan, out: Path) -> Iterator[Cell]:
    """Every cell, runs before the answers that need them."""
    for place in plan.benchmarks:
        benchmark = Benchmark.open(place)
        runs: list[Cell] = []
        for listed in plan.retriever:
            starts = [cell for name in listed.of for cell in runs if cell.name == name]
            runs.append(_run_cell(place, benchmark, listed, starts, out))
        yield from runs
        for reader in plan.reader:
            for chosen, label in _settings(benchmark, plan):
                if reader.passages and chosen.passages not in reader.passages:
                    continue
                read = [run for run in runs if not reader.of or run.name in reader.of]
                for run in read if chosen.needs_run else [None]:
                    yield _answers_cell(place, benchmark, reader, chosen, label, run, plan.limit, out)


def _settings(benchmark: Benchmark, plan: Plan) -> Iterator[tuple[Setting, str]]:
    """Every setting with what its cells' names say beyond the passages shown."""
    for listed in plan.setting:
        for seed in listed.seeds or (plan.seed,):
            yield (setting_for(benchmark, listed, seed), f" seed {seed}" if len(listed.seeds) > 1 else "")


def _run_cell(
    place: str, benchmark: Benchmark, plan: RetrieverPlan, starts: Sequence[Cell], out: Path
) -> Cell:
    key = _hash(
        {
            "benchmark": benchmark.id,
            "retriever": plan.retriever,
            "k": plan.k,
            "options": plan.options,
            "files": _dependencies("retrievers", plan.retriever, plan.options),
            **({"of": [cell.key for cell in starts]} if starts else {}),
        }
    )
    if starts:
        named = ",".join(str(cell.path) for cell in starts)
        plan = msgspec.structs.replace(plan, options={**plan.options, OF_RUNS[plan.retriever]: named})
    return Cell(
        kind="run",
        benchmark=place,
        name=plan.label,
        key=key,
        path=out / "runs" / f"{plain(benchmark.name)}-{plain(plan.label)}-{key}",
        retriever=plan,
        starts=tuple(cell.key for cell in starts),
    )


def _answers_cell(
    place: str,
    benchmark: Benchmark,
    plan: ReaderPlan,
    setting: Setting,
    label: str,
    run: Cell | None,
    limit: int | None,
    out: Path,
) -> Cell:
    description: dict[str, Any] = {
        "benchmark": benchmark.id,
        "reader": plan.reader,
        "options": {k: v for k, v in plan.options.items() if k not in NO_MATTER},
        "setting": setting.hash,
        "run": run.key if run else None,
        "limit": limit,
        "files": _dependencies("readers", plan.reader, plan.options),
    }
    if plan.reader == "llm":
        description["prompt"] = find_prompt(str(plan.options.get("prompt", DEFAULT))).hash
    key = _hash(description)
    name = joined_name(plan.label, setting.passages, run.name if run else None)
    kind = find("readers", plan.reader) if setting.passages == "none" and ":" not in plan.reader else None
    name = (plan.label if getattr(kind, "retrieves", False) else name) + label
    return Cell(
        kind="answers",
        benchmark=place,
        name=name,
        key=key,
        path=out / "answers" / f"{plain(benchmark.name)}-{plain(name)}-{key}",
        reader=plan,
        setting=setting,
        run=run,
    )


# Options that decide how fast and for how much, never what is answered.
NO_MATTER = frozenset(
    {"concurrency", "timeout", "retries", "cache", "price_prompt", "price_completion", "batch"}
)


def _dependencies(kind: str, name: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of what an answer hangs on beside the options: own code, and files that options name."""
    cells = {}
    if ":" in name:
        if (origin := _source_of(name.partition(":")[0])) is not None:
            cells[name] = file_hash(origin)
    elif name in names(kind):
        cells[name] = target(kind, name)
    else:
        raise UsageError(
            f"there is no {kind.removesuffix('s')} called {name!r}", hint=did_you_mean(name, names(kind))
        )
    for key, value in options.items():
        if isinstance(value, str) and key not in NO_MATTER and Path(value).exists():
            cells[key] = path_hash(Path(value))
    return cells


def _source_of(module: str) -> Path | None:
    """The file of a module of the user's own, in the current folder first; None where there is none."""
    file = Path(*module.split(".")).with_suffix(".py")
    if file.exists():
        return file
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin else None


def path_hash(path: Path) -> str:
    """A file's hash; of a folder its manifest's, else of all its files' names and hashes."""
    if path.is_file():
        return file_hash(path)
    if (path / MANIFEST).exists():
        return file_hash(path / MANIFEST)
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path)}\0{file_hash(file)}\n".encode())
    return digest.hexdigest()


def _hash(given: Mapping[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(given, order="deterministic")).hexdigest()[:12]


def plain(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-").lower()[:60] or "x"
