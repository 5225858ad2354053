"""Options that several verbs share, so that one word means one thing everywhere."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


class Depths(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
    """`1,5,20`: whole numbers above zero."""

    name = "K,K,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            depths = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers such as 1,5,20", param, ctx)
        if any(k < 1 for k in depths):
            self.fail(f"{value!r} contains a number below 1", param, ctx)
        return depths


class Words(click.ParamType):  # type: ignore[type-arg]
    """`role,relation`: words between commas."""

    name = "WORD,WORD,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(part.strip() for part in str(value).split(",") if part.strip())


class Measures(Words):
    """`acc@1,confused@20`: names of measures, which a shell completes."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from whichone import registry

        before, comma, typed = incomplete.rpartition(",")
        names = [name for name in registry.names("measures") if name.startswith(typed)]
        return [CompletionItem(before + comma + name) for name in names]


class BenchmarkName(click.ParamType):  # type: ignore[type-arg]
    """A benchmark's folder, or the name of a built-in one."""

    name = "BENCHMARK"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from whichone import registry

        names = [name for name in registry.names("builtins") if name.startswith(incomplete)]
        return [*map(CompletionItem, names), CompletionItem(incomplete, type="dir")]


class Memory(click.ParamType):  # type: ignore[type-arg]
    """`4GB`: an amount of memory."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"\d+(\.\d+)? *[KMGT]i?B", str(value), re.IGNORECASE):
            self.fail(f"{value!r} is no amount of memory such as 4GB", param, ctx)
        return str(value)


def names_of(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What a shell offers for an option that takes a registered name, such as a retriever's."""

    def offered(ctx: click.Context, param: click.Parameter, typed: str) -> list[str]:
        from whichone import registry

        return [name for name in registry.names(kind) if name.startswith(typed)]

    return offered


def judge_options(function: F) -> F:
    """Who decides the outcome of an answer, where it is not the rules."""
    options = (
        click.option("--judge", default=None, help="Answers: the model that decides outcomes."),
        click.option(
            "--endpoint",
            default=None,
            envvar="WHICHONE_ENDPOINT",
            help="Where the judge is, such as http://HOST/v1.",
        ),
        click.option(
            "--outcome-words",
            type=click.Path(exists=True, dir_okay=False),
            help="Answers: a list of your own of phrases that ask, refuse and deny.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@contextlib.contextmanager
def chosen_judge(
    model: str | None, endpoint: str | None, words: str | None
) -> Iterator[Callable[..., Any] | None]:
    """The judge that the options name, closed at the end; None for the rules."""
    from whichone.measures.outcomes import judging

    if model is None:
        yield judging(words=words)
        return
    if endpoint is None:
        from whichone.errors import UsageError

        raise UsageError("a judge needs an endpoint", hint="--endpoint http://127.0.0.1:8000/v1")
    from whichone.chat.endpoint import EndpointOptions, open_endpoint

    with open_endpoint(EndpointOptions(url=endpoint, model=model)) as opened:
        yield judging(opened, words)


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(
        function
    )


def memory_option(function: F) -> F:
    return click.option(
        "--memory",
        type=Memory(),
        default="2GB",
        show_default=True,
        help="Bound on the engine's memory.",
    )(function)


def engine_options(function: F) -> F:
    """`--engine` and `--master`: where the work on a knowledge base is done."""
    function = click.option(
        "--master", default=None, help="Spark's master, such as spark://host:7077."
    )(function)
    return click.option(
        "--engine",
        type=click.Choice(["duckdb", "spark"]),
        default="duckdb",
        show_default=True,
        help="What runs the relational steps and reads the pages.",
    )(function)


def seed_option(function: F) -> F:
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of everything random.",
        envvar="WHICHONE_SEED",
    )(function)


def k_option(default: str, *names: str) -> Callable[[F], F]:
    return click.option(
        "-k",
        *names,
        "depths",
        type=Depths(),
        default=default,
        show_default=True,
        help="Depths, such as 1,5,20.",
    )


def per_query_option(function: F) -> F:
    return click.option(
        "--per-query",
        type=click.Path(dir_okay=False),
        default=None,
        help="Also write one row a query; .jsonl, .csv or .parquet by suffix.",
    )(function)


def on_error_option(function: F) -> F:
    return click.option(
        "--on-error",
        type=click.Choice(["fail", "skip"]),
        default="fail",
        show_default=True,
        help="Stop at the first bad record, or count and list them.",
    )(function)


def moved_benchmark_option(function: F) -> F:
    return click.option(
        "--benchmark",
        multiple=True,
        help="Where the benchmark is now, if it was moved; of a run over several once for each.",
    )(function)


def corpus_option(function: F) -> F:
    """`--corpus CORPUS`: what the command makes names that corpus and writes none of its own."""

    @functools.wraps(function)
    def command(*, corpus: str | None, **values: Any) -> Any:
        if corpus is None:
            return function(**values)
        from whichone.benchmarks.benchmark import over_corpus
        from whichone.runs.run import open_corpus

        with over_corpus(open_corpus(corpus)):
            return function(**values)

    return click.option(
        "--corpus",
        type=click.Path(),
        default=None,
        help="A corpus (`whichone corpus`) to ask; without it one is made inside the folder.",
    )(command)  # type: ignore[return-value]


def _accept_gold_outside(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        from whichone.benchmarks.gold import gold_outside_accepted

        context.with_resource(gold_outside_accepted())


gold_outside_option = click.option(
    "--gold-outside",
    is_flag=True,
    expose_value=False,
    callback=_accept_gold_outside,
    help="Accept gold that is mostly outside the corpus; it can never be found.",
)
