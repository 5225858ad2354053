"""Measures are small values with a parseable name: `acc@1`, `confused@20`, `rprec`.

A measure gives one number for one (system, query): of what was retrieved, or of what was answered. `aggregate` says how a slice's numbers become
one: their mean, or the mean over name sets of each set's minimum ("all correct").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from whichone import registry
from whichone.errors import UsageError
from whichone.records import Passage, Query, Trace

OFFICIAL = {
    "Rprec": "rprec",
    "success_rate": "success_rate",
    "KILT-em": "kilt_em",
    "KILT-f1": "kilt_f1",
    "KILT-accuracy": "kilt_accuracy",
    "KILT-rougel": "kilt_rouge_l",
    "rougel": "rouge_l",
}


_NAME = re.compile(r"([A-Za-z_][\w-]*)(?:@(\d+))?")


@dataclass(frozen=True)
class Retrieved:
    """One query with what a system returned for it: the input of every retrieval measure."""

    query: Query
    pages: Sequence[str]
    """Pages in order of their best passage, each once."""
    gold: frozenset[str]
    others: frozenset[str]
    """Pages of the other bearers of the name that are not gold."""
    passages: Sequence[str] = ()
    passage: Callable[[str], Passage] | None = None
    """Looks a passage up, for measures that read its text."""
    failed: bool = False


@dataclass(frozen=True)
class Answered:
    """One query with what a reader said to it: the input of every measure of answers."""

    query: Query
    text: str | None
    """None is a refusal, or a question back."""
    gold: frozenset[str]
    pages: Sequence[str] = ()
    """Pages of the passages the answer rests on, then of the others that were shown, each once."""
    cited: Sequence[str] = ()
    """Pages of the passages the answer rests on."""
    other_values: Sequence[str] = ()
    """What the other bearers' queries accept and this one does not."""
    shown: Sequence[str] = ()
    passage: Callable[[str], Passage] | None = None
    failed: bool = False
    asks: str | None = None
    """The question back, where the system says that it asks."""
    others: frozenset[str] = frozenset()
    """Pages of the other bearers of the name that are not gold."""
    trace: Trace | None = None
    """What an agent did, where it was one."""
    judged: str | None = None
    """The outcome by a judge other than the rules, where one was asked."""


@dataclass(frozen=True)
class Measure:
    """A named function of one query with what a system did; None where it does not apply."""

    name: str
    value: Callable[[Any], float | None]
    k: int | None = None
    aggregate: Literal["mean", "all"] = "mean"
    bounds: tuple[float, float] = (0.0, 1.0)
    """The least and the greatest value there can be."""
    needs_text: bool = False
    of: Literal["rankings", "answers", "both"] = "rankings"
    needs: str = ""
    """What a query must have for it to apply, in words: "a gold page"."""
    batch: Callable[[Sequence[Any]], Sequence[float | None]] | None = None
    """`value` of many queries at once, where that is faster."""

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"


def parse_measure(text: str) -> Measure:
    """A measure by its name, with its depth: "acc@5"."""

    match = _NAME.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a measure", hint="write it as acc@5")
    name, depth = match[1], int(match[2]) if match[2] else None
    if depth == 0:
        raise UsageError(f"{text!r}: the depth must be at least 1")
    make: Callable[[int | None], Measure] = registry.find("measures", OFFICIAL.get(name, name))
    return make(depth)


def parse_measures(texts: Sequence[str]) -> list[Measure]:
    return [parse_measure(text) for text in texts]


def check_of(measures: Sequence[Measure], wanted: Literal["rankings", "answers"]) -> None:
    """Refuse measures of the other kind: a ranking has no exact match, an answer no acc@5."""
    strangers = [str(m) for m in measures if m.of not in (wanted, "both")]
    if strangers:
        other = "em,f1,answered_for_namesake" if wanted == "answers" else "acc@1,confused@20"
        raise UsageError(
            f"{', '.join(strangers)}: no measure of {wanted}", hint=f"such as --measures {other}"
        )


def needs_depth(name: str, k: int | None) -> int:
    if k is None:
        raise UsageError(f"{name} needs a depth", hint=f"write it as {name}@20")
    return k


def no_depth(name: str, k: int | None) -> None:
    if k is not None:
        raise UsageError(f"{name} takes no depth", hint=f"write it as {name}")


def described(measures: Sequence[Measure]) -> list[dict[str, Any]]:
    return [{"measure": str(m), "aggregate": m.aggregate} for m in measures]
