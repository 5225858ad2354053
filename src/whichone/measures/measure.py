"""Measures are small values with a parseable name: `acc@1`, `confused@20`, `rprec`.

A measure gives one number for one (system, query): of what was retrieved, or of what was answered. It carries all that
scores, comparisons, ranks, gates and boards need to know of it, so that none of them decides by its name.
"""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from whichone import registry
from whichone.errors import UsageError, WhichoneError
from whichone.records import Passage, Query, Trace
from whichone.retrieval.adapters.adapted import load_function

OFFICIAL = {
    "Rprec": "rprec",
    "success_rate": "success_rate",
    "KILT-em": "kilt_em",
    "KILT-f1": "kilt_f1",
    "KILT-accuracy": "kilt_accuracy",
    "KILT-rougel": "kilt_rouge_l",
    "rougel": "rouge_l",
}


_NAME = re.compile(r"([A-Za-z_][\w-]*|[\w.]+:\w+)(?:@(\d+))?")
Direction = Literal["higher", "lower", "neither"]
Depth = Literal["none", "needed", "optional"]


@dataclass(frozen=True)
class Retrieved:
    """One query with what a system returned for it: the input of every retrieval measure."""

    query: Query
    # Pages in order of their best passage, each once.
    pages: Sequence[str]
    gold: frozenset[str]
    # Pages of the other bearers of the name that are not gold.
    others: frozenset[str]
    passages: Sequence[str] = ()
    # Looks a passage up, for measures that read its text.
    passage: Callable[[str], Passage] | None = None
    failed: bool = False
    # The system says that the one who is meant is not there.
    declined: bool = False


@dataclass(frozen=True)
class Answered:
    """One query with what a reader said to it: the input of every measure of answers."""

    query: Query
    # None is a refusal, or a question back.
    text: str | None
    gold: frozenset[str]
    # Pages of the passages the answer rests on, then of the others that were shown, each once.
    pages: Sequence[str] = ()
    # Pages of the passages the answer rests on.
    cited: Sequence[str] = ()
    # What the other bearers' queries accept and this one does not.
    other_values: Sequence[str] = ()
    shown: Sequence[str] = ()
    passage: Callable[[str], Passage] | None = None
    failed: bool = False
    # The question back, where the system says that it asks.
    asks: str | None = None
    others: frozenset[str] = frozenset()
    trace: Trace | None = None
    # The outcome by a judge other than the rules, where one was asked.
    judged: str | None = None


@dataclass(frozen=True)
class Measure:
    """A named function of one query with what a system did; None where it does not apply."""

    name: str
    value: Callable[[Any], float | None]
    k: int | None = None
    # What it says, in plain words; without one the first sentence of the function that makes it.
    label: str = ""
    # Which of two values is better; "neither" where a value alone says nothing about that.
    direction: Direction = "higher"
    # A share is from 0 to 1 and printed in percent; a number is 0 or more.
    unit: Literal["share", "number"] = "share"
    # How the values of a slice become one: their mean, or the mean over name sets of each set's lowest.
    aggregate: Literal["mean", "all"] = "mean"
    needs_text: bool = False
    of: Literal["rankings", "answers", "both"] = "rankings"
    # What a query must have for it to apply, in words: "a gold page".
    needs: str = ""
    # `value` of many queries at once, where that is faster.
    batch: Callable[[Sequence[Any]], Sequence[float | None]] | None = None

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def population(self) -> Literal["query", "name set"]:
        """What there is one value of."""
        return "query" if self.aggregate == "mean" else "name set"

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0 if self.unit == "share" else math.inf)

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is, 0 where neither is."""
        return {"higher": 1, "lower": -1, "neither": 0}[self.direction]

    @property
    def explained(self) -> str:
        """Its label, and its direction where more is not better."""
        words = {"higher": "", "lower": " (lower is better)", "neither": " (neither more nor less is better)"}
        return f"{self.label}{words[self.direction]}"


Maker = Callable[[int | None], Measure]  # What is registered as a measure: the depth in, the measure out


def as_measure(
    name: str = "", *, depth: Depth = "none", **settings: Any
) -> Callable[[Callable[..., float | None]], Maker]:
    """A function of one query (and of the depth, where it takes one) as a measure with these fields of `Measure`."""

    def decorate(value: Callable[..., float | None]) -> Maker:
        called = name or value.__name__

        def make(k: int | None) -> Measure:
            check_depth(called, k, depth)
            if depth == "none":
                return Measure(called, value, **settings)
            return Measure(called, lambda one: value(one, k), k, **settings)

        make.__doc__, make.__name__ = value.__doc__, value.__name__
        return make

    return decorate


def parse_measure(text: str) -> Measure:
    """A measure by its name, with its depth: "acc@5"; or one's own: "my_measures:early@5"."""
    if (match := _NAME.fullmatch(text.strip())) is None:
        raise UsageError(f"{text!r} is not a measure", hint="write it as acc@5")
    name, depth = match[1], int(match[2]) if match[2] else None
    if depth == 0:
        raise UsageError(f"{text!r}: the depth must be at least 1")
    own = ":" in name
    make = load_function(name) if own else registry.find("measures", OFFICIAL.get(name, name))
    measure = _made(make, depth, name)
    if own and measure.batch is None:
        measure = replace(measure, value=_checked(measure))
    if measure.label:
        return measure
    sentence = re.split(r"[;.\n]", inspect.getdoc(make) or measure.name, maxsplit=1)[0]
    label = re.sub(r"\bk\b", str(depth), sentence) if depth else sentence
    abbreviated = label[1:2] == label[1:2].upper()
    return replace(measure, label=label if abbreviated else label[:1].lower() + label[1:])


HINT = (
    "a measure is a function of one argument, annotated Retrieved or Answered, that returns a number or None; "
    "or a function of the depth that returns a whichone.measures.measure.Measure"
)


def _made(make: Any, depth: int | None, name: str) -> Measure:
    """The measure of an entry point or of `module:function`; a function of one `Retrieved` or `Answered` is one."""
    if isinstance(make, Measure):
        return make
    if callable(make):
        seen = [p.annotation for p in inspect.signature(make).parameters.values()][:1]
        kind = str(getattr(seen[0], "__name__", seen[0])).rpartition(".")[2] if seen else ""
        if kind in ("Retrieved", "Answered"):
            return _of_function(make, depth, answers=kind == "Answered")
        try:
            measure = make(depth)
        except WhichoneError:
            raise
        except Exception as error:
            raise UsageError(f"{name} fails when it is called with a depth: {error}", hint=HINT) from error
        if isinstance(measure, Measure):
            return measure
    raise UsageError(f"{name} is no measure", hint=HINT)


def _checked(measure: Measure) -> Callable[[Any], float | None]:
    """The value of a user's own measure; what fails or is out of bounds names the measure and the query."""
    low, high = measure.bounds

    def value(of_one: Retrieved | Answered) -> float | None:
        where = f"{measure} of query {of_one.query.id}"
        try:
            given: Any = measure.value(of_one)
        except WhichoneError:
            raise
        except Exception as error:
            raise UsageError(f"{where} fails: {type(error).__name__}: {error}", hint=HINT) from error
        if given is None:
            return None
        number = math.nan
        with suppress(TypeError, ValueError):
            number = math.nan if isinstance(given, str) else float(given)
        if not low <= number <= high:
            hint = "None where it does not apply; what is no share is a Measure with unit='number'"
            raise UsageError(f"{where} is {given!r}, not from {low:g} to {high:g}", hint=hint)
        return number

    return value


def _of_function(value: Callable[[Any], float | None], depth: int | None, *, answers: bool) -> Measure:
    """A function of one query as a measure: more is better, and a depth shows it the first results only."""
    if answers:
        no_depth(value.__name__, depth)
        return Measure(value.__name__, value, of="answers")

    def first(r: Retrieved) -> float | None:
        return value(replace(r, pages=r.pages[:depth], passages=r.passages[:depth]))

    return Measure(value.__name__, first, depth)


def parse_measures(texts: Sequence[str]) -> list[Measure]:
    measures = [parse_measure(text) for text in dict.fromkeys(texts)]
    names = [str(measure) for measure in measures]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two measures are called {repeated[0]}", hint="give yours another name")
    return measures


def every_measure(depth: int = 20) -> list[Measure]:
    """Every registered measure that works, at this depth where it needs one."""
    measures = []
    for name in registry.names("measures"):
        for text in (name, f"{name}@{depth}"):
            with suppress(WhichoneError):
                measures.append(parse_measure(text))
                break
    return measures


def check_of(measures: Sequence[Measure], wanted: Literal["rankings", "answers"]) -> None:
    """Refuse measures of the other kind: a ranking has no exact match, an answer no acc@5."""
    if strangers := [str(m) for m in measures if m.of not in (wanted, "both")]:
        other = "em,f1,answered_for_namesake" if wanted == "answers" else "acc@1,confused@20"
        raise UsageError(
            f"{', '.join(strangers)}: no measure of {wanted}", hint=f"such as --measures {other}"
        )


def check_depth(name: str, k: int | None, wanted: Depth) -> None:
    if wanted == "none":
        no_depth(name, k)
    elif wanted == "needed":
        needs_depth(name, k)


def needs_depth(name: str, k: int | None) -> int:
    if k is None:
        raise UsageError(f"{name} needs a depth", hint=f"write it as {name}@20")
    return k


def no_depth(name: str, k: int | None) -> None:
    if k is not None:
        raise UsageError(f"{name} takes no depth", hint=f"write it as {name}")
