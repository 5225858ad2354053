"""Options, declared once: a field of a struct with its help, from which command line, Python and docs take theirs.

    class Plan(msgspec.Struct, frozen=True, kw_only=True):
        words: Annotated[int, Option("Words a passage; 0 keeps pages whole.")] = 100

`cli.click_options.options_of(Plan)` makes `--words` of it. Bounds are msgspec's: `Annotated[int, Option(...), Meta(ge=1)]`.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

from msgspec import Meta, Struct, structs

R = TypeVar("R")
_Kind: TypeAlias = Literal[
    "", "path", "exists", "file", "folder", "written", "made", "benchmark",
    "text", "words", "depths", "measures", "size", "pairs",
]  # fmt: skip


@dataclass(frozen=True)
class Option:
    """What a field is on the command line, beside its type and default."""

    help: str = ""
    flags: tuple[str, ...] = ()
    """How it is written, where that is not the field's name: `("-k", "--ks")`, `("--user/--no-user",)`."""
    kind: _Kind = ""
    """What is written, where the field's type does not say it: a place (which exists), values between commas, ..."""
    names: str = ""
    """The kind of registered name that it takes, which a shell completes."""
    metavar: str | None = None
    envvar: str | None = None
    bare: str | None = None
    """What it means where nothing is written behind it; None: that is an error."""
    shown: bool = True
    """Whether help shows the default."""


@dataclass(frozen=True)
class Argument:
    """What stands at a place of its own on the command line, such as a folder to write."""

    kind: _Kind = "path"
    metavar: str | None = None


def takes(kind: type[Struct], name: str = "plan") -> Callable[[Callable[..., R]], Callable[..., R]]:
    """The fields of a struct of options, a function's parameter `name`, may be given as keywords instead."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        written = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **values: Any) -> R:
            own = {field: values.pop(field) for field in kind.__struct_fields__ if field in values}
            bound = written.bind_partial(*args, **values)
            plan = bound.arguments.get(name)
            bound.arguments[name] = structs.replace(plan, **own) if plan else kind(**own)
            return function(*bound.args, **bound.kwargs)

        plain = get_type_hints(kind)
        others = [p for p in written.parameters.values() if p.name != name]
        keywords = (p.replace(annotation=plain[p.name]) for p in inspect.signature(kind).parameters.values())
        together = sorted([*others, *keywords], key=lambda p: p.kind)
        call.__signature__ = written.replace(parameters=together)  # type: ignore[attr-defined]
        return call

    return decorate


# A folder or a file; a command of its own says whether it must exist.
Place: TypeAlias = Annotated[str, Argument()]
Existing: TypeAlias = Annotated[str, Argument("exists")]
Places: TypeAlias = Annotated[tuple[str, ...], Argument()]
# A benchmark's folder, or the name of a built-in one.
Asked: TypeAlias = Annotated[str, Argument("benchmark")]
AllAsked: TypeAlias = Annotated[tuple[str, ...], Argument("benchmark", "BENCHMARK...")]
Seed: TypeAlias = Annotated[int, Option("Seed of everything random.", envvar="WHICHONE_SEED"), Meta(ge=0)]
OnError: TypeAlias = Annotated[
    Literal["fail", "skip"], Option("Stop at the first bad record, or count and list them.")
]
Name: TypeAlias = Annotated[str | None, Option("The system's name in tables.")]
DEFAULT_MEMORY = "2GB"
Memory: TypeAlias = Annotated[str, Option("Bound on the engine's memory.", kind="size")]
Depths: TypeAlias = Annotated[
    tuple[int, ...], Option("Depths, such as 1,5,20.", flags=("-k",), kind="depths")
]
Json: TypeAlias = Annotated[bool, Option("Print JSON instead of a table.", flags=("--json",))]
Allow: TypeAlias = Annotated[
    tuple[str, ...],
    Option(
        "Code of your own that may run, though only a file or folder names it; for `reproduce` also a host that "
        "may be asked. May be given again.",
        metavar="MODULE:FUNCTION",
    ),
]
PerQuery: TypeAlias = Annotated[
    str | None, Option("Also write one row a query; .jsonl, .csv or .parquet by suffix.", kind="written")
]
Moved: TypeAlias = Annotated[
    tuple[str, ...],
    Option(
        "Where the benchmark is now, if it was moved; of a run over several once for each.",
        flags=("--benchmark",),
    ),
]
OwnPassages: TypeAlias = Annotated[
    str | None, Option("Passages for a corpus of its own: .jsonl, .tsv, BEIR.", kind="exists")
]


class EngineOptions(Struct, frozen=True, kw_only=True):
    """Where a builder asks a knowledge base; with `spark` on the workers of `master`."""

    engine: Annotated[
        Literal["duckdb", "spark"], Option("What runs the relational steps and reads the pages.")
    ] = "duckdb"
    master: Annotated[str | None, Option("Spark's master, such as spark://host:7077.")] = None
    memory: Memory = DEFAULT_MEMORY
