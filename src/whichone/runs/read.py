"""From a reader's name and options to answers on disk."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import UsageError
from whichone.protocols import Reader
from whichone.reading.llm import FunctionReader
from whichone.retrieval.adapters.adapted import load_function
from whichone.runs.answers import Answers
from whichone.runs.reading_runner import ReadingRunner
from whichone.runs.run import Run
from whichone.runs.settings import Setting, setting_for


def read_repeatedly(
    benchmark: Where, answers: str | Path, times: int, **options: Any
) -> tuple[Answers, dict[str, int]]:
    """The answers, and how many questions were answered differently in `ANSWERS-repeat-2` and so on.

    Repetitions go past the cache of calls: a reply out of the cache is the same by construction.
    """
    first = read(benchmark, answers, **options)
    again = []
    for number in range(2, times + 1):
        own = dict(options.get("options") or {})
        if options.get("reader") == "llm":
            own["cache"] = "none"
        place = Path(f"{answers}-repeat-{number}")
        again.append(read(benchmark, place, **{**options, "options": own}))
    return first, differences([first, *again], Benchmark.open(benchmark)) if again else {}


def differences(answers: Sequence[Answers], benchmark: Benchmark) -> dict[str, int]:
    """Questions asked every time, and those of them whose text differs, failures among the differences."""
    given = [{q: a.text for q, a in item.answers.items()} for item in answers]
    asked = [q.id for q in benchmark.queries if q.id not in answers[0].left_out]
    differing = sum(len({(q in item, item.get(q)) for item in given}) > 1 for q in asked)
    return {"times": len(answers), "questions": len(asked), "differing": differing}


def read(
    benchmark: Where,
    answers: str | Path,
    *,
    reader: str,
    options: Mapping[str, Any] | None = None,
    passages: str = "gold",
    depth: int | None = None,
    shuffled: bool | None = None,
    page_passages: int = 1,
    seed: int = 0,
    run: str | Path | None = None,
    name: str | None = None,
    **runner: Any,
) -> Answers:
    """Make the reader for this benchmark and let it read; `runner` are options of `ReadingRunner`."""
    opened = Benchmark.open(benchmark)
    setting = setting_for(
        opened,
        passages,
        depth=depth,
        shuffled=shuffled,
        page_passages=page_passages,
        seed=seed,
    )
    retrieved = Run.open(run) if run is not None else None
    given_options = {k: v for k, v in (options or {}).items() if v is not None}
    opened_reader = make_reader(reader, opened, given_options)
    runner.setdefault("cites", getattr(opened_reader, "cites", "shown"))
    command = command_line(
        opened.place,
        answers,
        reader,
        given_options,
        setting,
        retrieved,
        runner.get("limit"),
        runner.get("tasks") or (),
    )
    try:
        return run_reader(
            opened_reader,
            opened,
            answers,
            setting,
            run=retrieved,
            name=name or system_name(opened_reader, setting, retrieved),
            command=command,
            **runner,
        )
    finally:
        if close := getattr(opened_reader, "close", None):
            close()


def run_reader(
    reader: Reader,
    benchmark: Benchmark,
    path: str | Path,
    setting: Setting,
    *,
    run: Run | None = None,
    name: str | None = None,
    command: str | None = None,
    **options: Any,
) -> Answers:
    """Let a reader read; `options` are those of `ReadingRunner`."""
    describe: Callable[[], dict[str, Any]] | None = getattr(reader, "describe", None)
    runner = ReadingRunner(reader, benchmark, setting, run=run, **options)
    return runner.run(
        Path(path),
        name=name or system_name(reader, setting, run),
        description=describe() if describe else {"reader": type(reader).__name__},
        command=command,
    )


def make_reader(name: str, benchmark: Benchmark, options: Mapping[str, Any]) -> Reader:
    """A registered reader for this benchmark, or the user's own `module:function`."""
    if ":" in name:
        answer = load_function(name)
        if options and not callable(answer):
            raise UsageError(f"{name} is an object: it takes no options, here {', '.join(options)}")
        return as_reader(functools.partial(answer, **options) if options else answer)
    kind = registry.find("readers", name)
    if hasattr(kind, "for_benchmark") and not hasattr(kind, "over"):
        raise UsageError(
            f"{name} has for_benchmark(benchmark, **options): a reader is given a corpus now",
            hint="rename it to over(corpus, **options)",
        )
    try:
        opened_reader: Reader
        if hasattr(kind, "for_run") and kind.__module__.startswith("whichone.runs."):
            opened_reader = kind.for_run(benchmark, **options)
        else:
            opened_reader = kind.over(benchmark.corpus, **options)
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageError(f"{name} does not take these options: {error}") from error
    return opened_reader


def as_reader(answer: Any, *, name: str | None = None) -> Reader:
    """Anything with whichone's `read(tasks)` as it is; a function wrapped."""
    if isinstance(answer, Reader) and not callable(answer):
        return answer
    return FunctionReader(answer, name=name)


def system_name(reader: object, setting: Setting, run: Run | None = None) -> str:
    """A system's name in tables, from its parts."""
    own = str(getattr(reader, "name", type(reader).__name__))
    if getattr(reader, "retrieves", False):
        return own
    return joined_name(own, setting.passages, run.name if run is not None else None)


def joined_name(reader: str, passages: str, retriever: str | None) -> str:
    """As the papers write it: `BART + DPR`, with what else was shown in parentheses."""
    if passages == "retrieved" and retriever:
        return f"{reader} + {retriever}"
    if passages == "gold+retrieved" and retriever:
        return f"{reader} (gold) + {retriever}"
    shown = {"none": "closed book", "other-bearer": "other bearer"}
    return f"{reader} ({shown.get(passages, passages)})"


def command_line(
    benchmark: str | list[str],
    answers: str | Path,
    reader: str,
    options: Mapping[str, Any],
    setting: Setting,
    run: Run | None,
    limit: int | None = None,
    tasks: Sequence[str] = (),
) -> str:
    """The command that makes the answers again; keys are in the environment, never in here."""
    places = [benchmark] if isinstance(benchmark, str) else benchmark
    words = ["whichone", "read", *places, str(answers), "--reader", reader]
    words += ["--passages", setting.passages, "--depth", str(setting.depth)]
    words += ["--shuffled" if setting.shuffled else "--ranked", "--seed", str(setting.seed)]
    if setting.page_passages != 1:
        words += ["--page-passages", str(setting.page_passages)]
    if run is not None:
        words += ["--run", str(run.path)]
    if limit is not None:
        words += ["--limit", str(limit)]
    for task in tasks:
        words += ["--task", task]
    for key, value in options.items():
        if key in FLAGS:
            words += [f"--{key}", str(value)]
        else:
            words += ["-o", f"{key}={value}"]
    return shlex.join(words)


FLAGS = ("endpoint", "model", "prompt", "concurrency", "cache")
"""Options that have a flag of their own on the command line; others go by `-o KEY=VALUE`."""
