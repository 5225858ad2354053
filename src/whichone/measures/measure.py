"""Measures are small values with a parseable name: `acc@1`, `confused@20`, `rprec`.

A measure gives one number for one (system, query). `aggregate` says how a slice's numbers become
one: their mean, or the mean over name sets of each set's minimum ("all correct").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from whichone import registry
from whichone.errors import UsageError
from whichone.records import Passage, Query

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
class Measure:
    """A named function of one retrieved query; None where it does not apply."""

    name: str
    value: Callable[[Retrieved], float | None]
    k: int | None = None
    aggregate: Literal["mean", "all"] = "mean"
    needs_text: bool = False

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"


def parse_measure(text: str) -> Measure:
    """A measure by its name, with its depth: "acc@5"."""
    from whichone.measures.official_names import OFFICIAL

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


def needs_depth(name: str, k: int | None) -> int:
    if k is None:
        raise UsageError(f"{name} needs a depth", hint=f"write it as {name}@20")
    return k


def no_depth(name: str, k: int | None) -> None:
    if k is not None:
        raise UsageError(f"{name} takes no depth", hint=f"write it as {name}")


def described(measures: Sequence[Measure]) -> list[dict[str, Any]]:
    return [{"measure": str(m), "aggregate": m.aggregate} for m in measures]
