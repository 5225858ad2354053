"""From a retriever's name and options to a run on disk."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, LockedFolder, Missing, UsageError, did_you_mean
from whichone.files.folder import wait_until_unlocked
from whichone.progress import talk
from whichone.protocols import Retriever
from whichone.retrieval.function import FunctionRetriever
from whichone.runs.learned_from import learned_from
from whichone.runs.leaves_machine import what_leaves
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever
from whichone.secrets import masked_options, remember_secrets

ASKED_ELSEWHERE = frozenset({"haystack", "http", "langchain", "llama-index", "mteb"})
"""Retrievers of others, which bring their own corpus."""


def retrieve(
    benchmark: str | Path,
    run: str | Path,
    *,
    retriever: str,
    options: dict[str, Any] | None = None,
    k: int = 100,
    index: str | Path | None = None,
    name: str | None = None,
    **runner: Any,
) -> Run:
    """Make the retriever for this benchmark and run it; `runner` are options of `Runner`."""
    remember_secrets(options or {})
    opened = Benchmark.open(benchmark)
    work = Path(index) if index else default_index_folder(opened)
    made = _made_or_waited_for(retriever, opened, work, options or {})
    learned = 0 if ":" in retriever else learned_from(options or {}, opened)
    if learned:
        talk(
            f"the model was trained on {learned:,} of the {len(opened.queries):,} questions: scores on"
            " those are no test; split the benchmark before training (whichone build splits)"
        )
    place = (
        str(benchmark)
        if str(benchmark).startswith("builtin/")
        else str(opened.folder.root.resolve())
    )
    try:
        return run_retriever(
            made,
            opened,
            run,
            k=k,
            name=name or retriever.rpartition(":")[2],
            benchmark_place=place,
            description=_described(retriever, made, options or {}),
            learned=learned,
            **runner,
        )
    finally:
        close = getattr(made, "close", None)  # connections, stores; a retriever need not have it
        if callable(close):
            close()


def _made_or_waited_for(
    name: str, benchmark: Benchmark, work: Path, options: dict[str, Any]
) -> Retriever:
    """The retriever; where another process is building its index, wait and open what it built."""
    while True:
        try:
            return make_retriever(name, benchmark, work, options)
        except LockedFolder as error:
            place = Path(error.file or "").resolve()
            if work.resolve() not in (place, *place.parents):
                raise
            talk(f"waiting for another process that builds {place}")
            wait_until_unlocked(place)


def make_retriever(
    name: str, benchmark: Benchmark, work: Path, options: dict[str, Any]
) -> Retriever:
    """A registered retriever for this benchmark, or the user's own `module:name`.

    What is named may be a function, which gets the options as further arguments, a class with
    `for_benchmark(benchmark, work, **options)`, or any other class, made with the options.
    """
    own = ":" in name
    kind = load_function(name) if own else registry.find("retrievers", name)
    if not own and name not in ASKED_ELSEWHERE and not len(benchmark.corpus):
        raise BadInput(
            f"{benchmark.name} has no corpus: there is nothing that {name} could search",
            file=benchmark.folder.root,
            hint="import it again with --corpus CORPUS or --knowledge KB",
        )
    if own and not hasattr(kind, "for_benchmark"):
        if inspect.isclass(kind):
            return as_retriever(_called(name, kind, (), options))
        return as_retriever(functools.partial(kind, **options) if options else kind)
    leaving = None if own else what_leaves(name, options, benchmark)
    if leaving:
        talk(leaving)
    made: Retriever = _called(name, kind.for_benchmark, (benchmark, work), options)
    making = options.get("make")
    if isinstance(making, str):  # the run is also of the module that made the object asked
        made.own_code = sys.modules[making.partition(":")[0]]  # type: ignore[attr-defined]
    return made


def _described(name: str, made: Retriever, options: dict[str, Any]) -> dict[str, Any]:
    """What the retriever says of itself, and the options that only its own code knows.

    whichone's own retrievers describe every option that decides a ranking; a user's class may
    describe none, and its options are part of the run all the same.
    """
    describe = getattr(made, "describe", None)
    description = dict(describe()) if describe else {"retriever": type(made).__name__}
    ours = ":" not in name and type(made).__module__.partition(".")[0] == "whichone"
    if options and not ours:
        description.setdefault("options", masked_options(options))
    making = options.get("make")
    return {**description, "make": making} if isinstance(making, str) else description


def _called(name: str, make: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Options that are not known or not of the right kind are the user's mistake, and only those."""
    try:
        inspect.signature(make).bind(*arguments, **options)
        return make(*arguments, **options)
    except msgspec.ValidationError as error:
        raise _not_taken(name, make, error) from error
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            inside = error.__traceback__.tb_next.tb_frame.f_code.co_filename
            if inside != inspect.__file__:
                raise
        raise UsageError(f"{name} does not take these options: {error}") from error


def _not_taken(name: str, make: Any, error: msgspec.ValidationError) -> UsageError:
    """The error in the user's words; a retriever that names its `Parameters` gets a hint."""
    known = getattr(getattr(make, "__self__", None), "Parameters", None)
    unknown = re.search(r"unknown field `(.+?)`", str(error))
    if known is None or unknown is None:
        return UsageError(f"{name} does not take these options: {error}")
    options = [field.name for field in msgspec.structs.fields(known)]
    return UsageError(
        f"{name} has no option {unknown[1]!r}", hint=did_you_mean(unknown[1], options)
    )


def as_retriever(search: Any, *, batched: bool | None = None, name: str | None = None) -> Retriever:
    """Anything with a `search(questions, k)` of ours as it is; a function wrapped."""
    if isinstance(search, Retriever) and not callable(search):
        return search
    return FunctionRetriever(search, batched=batched, name=name)


def load_function(place: str) -> Any:
    """What `module:attribute` means, looked up in the current folder first."""
    module, _, attribute = place.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Missing(
            f"there is no module {error.name!r}", hint="is it in this folder, or installed?"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{module} has no {attribute!r}")
        found = getattr(found, part)
    return found


def default_index_folder(benchmark: Benchmark) -> Path:
    """Indexes are derived and can be made again: they lie in the cache, by the corpus' hash."""
    from whichone.files.cache import cache_folder

    return cache_folder() / "indexes" / benchmark.corpus.hash[:16]
