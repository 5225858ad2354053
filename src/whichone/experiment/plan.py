"""The file of an experiment, as TOML: which benchmarks, retrievers, readers and settings."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput, Missing, UsageError, did_you_mean
from whichone.runs.shown import KINDS

OF_RUNS = {"fusion": "runs", "rerank": "run"}
"""Retrievers that start from finished runs, and the option that names them."""


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
    """A reader by its registered name or as `module:function`, with its options."""

    reader: str
    name: str = ""
    options: dict[str, Any] = {}

    @property
    def label(self) -> str:
        return self.name or self.reader.rpartition(":")[2]


class SettingPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What readers are shown; what is not said is the benchmark's own default.

    Several `seeds` give a cell each: what the order of the passages does, if they are shuffled.
    """

    passages: str
    depth: int | None = None
    shuffled: bool | None = None
    page_passages: int = 1
    seeds: list[int] = []


class TrainingPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `whichone train` that is done before the cells, unless OUT has finished already."""

    train: str
    """retriever, reranker, reader, rag or linker."""
    sources: list[str]
    out: str
    options: dict[str, Any] = {}
    """By the names of the command's options; true for a flag."""

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


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is crossed; `limit` asks only so many questions of each benchmark, drawn by name."""

    benchmarks: list[str]
    training: list[TrainingPlan] = []
    retriever: list[RetrieverPlan] = []
    reader: list[ReaderPlan] = []
    setting: list[SettingPlan] = []
    name: str = ""
    out: str | None = None
    seed: int = 0
    limit: int | None = None
    measures: list[str] = []
    retrieval_measures: list[str] = []


def read_plan(path: str | Path) -> Plan:
    """The plan in a file, checked: what is crossed must be there."""
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise Missing("no such file (an experiment in TOML is wanted)", where=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise BadInput(f"cannot be read as TOML: {error}", file=file) from error
    try:
        plan = msgspec.convert(document, Plan)
    except msgspec.ValidationError as error:
        raise BadInput(f"is no experiment: {error}", file=file) from error
    _check(plan, file)
    return plan


def _check(plan: Plan, file: Path) -> None:
    if not plan.benchmarks:
        raise BadInput("it names no benchmark", file=file, hint='benchmarks = ["builtin/amber"]')
    if not plan.retriever and not plan.reader:
        raise BadInput("it names neither a [[retriever]] nor a [[reader]]", file=file)
    if plan.reader and not plan.setting:
        raise BadInput(
            "it has readers but no [[setting]]", file=file, hint='[[setting]] passages = "gold"'
        )
    unknown = [s.passages for s in plan.setting if s.passages not in KINDS]
    if unknown:
        raise UsageError(
            f"passages = {unknown[0]!r}", where=str(file), hint=f"one of {', '.join(KINDS)}"
        )
    if any("retrieved" in s.passages for s in plan.setting) and not plan.retriever:
        raise BadInput(
            "a setting shows retrieved passages, but there is no [[retriever]]", file=file
        )
    for kind, labels in (
        ("retriever", [r.label for r in plan.retriever]),
        ("reader", [r.label for r in plan.reader]),
    ):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise BadInput(
                f"two [[{kind}]] are called {twice[0]!r}", file=file, hint="give each a name"
            )
    _check_of(plan, file)
    if plan.limit is not None and plan.limit < 1:
        raise BadInput("limit must be at least 1", file=file)


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
