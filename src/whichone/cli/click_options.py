"""Options that several verbs share, so that one word means one thing everywhere."""

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click
import msgspec
from click.shell_completion import CompletionItem

from whichone import registry
from whichone.cli import printing
from whichone.errors import UsageError
from whichone.options import Argument, Option

F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D")


class Depths(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
    """`1,5,20`: whole numbers above zero."""

    name = "K,K,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        parts = value if isinstance(value, tuple) else str(value).split(",")
        if not all(str(part).strip().isdecimal() for part in parts):
            self.fail(f"{value!r} is not a list of whole numbers such as 1,5,20", param, ctx)
        if any(int(part) < 1 for part in parts):
            self.fail(f"{value!r} contains a number below 1", param, ctx)
        return tuple(map(int, parts))


class Words(click.ParamType):  # type: ignore[type-arg]
    """`role,relation`: words between commas."""

    name = "WORD,WORD,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        parts = value if isinstance(value, tuple) else str(value).split(",")
        return tuple(filter(None, map(str.strip, parts)))


class Measures(Words):
    """`acc@1,confused@20`: names of measures, which a shell completes."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, typed = incomplete.rpartition(",")
        return [CompletionItem(before + comma + name) for name in _beginning("measures", typed)]


class BenchmarkName(click.ParamType):  # type: ignore[type-arg]
    """A benchmark's folder, or the name of a built-in one."""

    name = "BENCHMARK"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        names = map(CompletionItem, _beginning("builtins", incomplete))
        return [*names, CompletionItem(incomplete, type="dir")]


class Memory(click.ParamType):  # type: ignore[type-arg]
    """`4GB`: an amount of memory."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"\d+(\.\d+)? *[KMGT](i?B)?", str(value), re.IGNORECASE):
            self.fail(f"{value!r} is no amount of memory such as 4GB", param, ctx)
        return re.sub("(?<=[KMGT])$", "B", str(value), flags=re.IGNORECASE)  # 512M is 512MB


def _beginning(kind: str, typed: str) -> list[str]:
    """What a shell offers where a registered name is typed, such as a retriever's."""
    return [name for name in registry.names(kind) if name.startswith(typed)]


_KINDS: dict[str, Callable[[], click.ParamType]] = {  # type: ignore[type-arg]
    "path": click.Path,
    "exists": lambda: click.Path(exists=True),
    "file": lambda: click.Path(exists=True, dir_okay=False),
    "folder": lambda: click.Path(exists=True, file_okay=False),
    "words": Words,
    "depths": Depths,
    "measures": Measures,
    "size": Memory,
    "pairs": lambda: click.STRING,
    "written": lambda: click.Path(dir_okay=False),
    "made": lambda: click.Path(file_okay=False),
    "benchmark": BenchmarkName,
    "text": lambda: click.STRING,
}


def options_of(kind: type[msgspec.Struct], name: str = "plan") -> Callable[[F], F]:
    """The options that a struct's fields declare, those of structs in it too; the command gets them as one struct, `name`."""
    hints = get_type_hints(kind, include_extras=True)

    def decorate(function: F) -> F:
        passed_as: dict[str, str] = {}

        @functools.wraps(function)
        def command(**values: Any) -> Any:
            own = {field: values.pop(stored) for field, stored in passed_as.items()}
            for field in own.keys() & hints.keys():
                if (option := _declared(hints[field], Option)) is not None and option.kind == "pairs":
                    own[field] = parse_pairs(own[field])
            return function(**values, **{name: kind(**own)})

        decorated: Any = command
        for field in reversed(msgspec.structs.fields(kind)):
            hint = hints[field.name]
            if _is_options(hint):
                passed_as[field.name] = field.name
                decorated = options_of(hint, field.name)(decorated)
            elif _declared(hint, Option) is not None:
                taken = {option.name for option in getattr(decorated, "__click_params__", ())}
                stored = f"{name}_{field.name}" if field.name in taken else field.name
                made = field.default_factory
                default = field.default if made is msgspec.NODEFAULT else made()
                field_option(field.name, hint, default, stored)(decorated)
                passed_as[field.name] = stored
        return decorated

    return decorate


def command(
    name: str | None = None, *, makes: str | None = None, **output: Any
) -> Callable[[F], click.Command]:
    """A function as a command: its signature declares arguments and, after the `*`, options.

    `makes` is the argument that names what it makes (`printing.makes`, which takes the rest).
    """

    def decorate(function: F) -> click.Command:
        declared = own_options(function)
        return click.command(name)(printing.makes(makes, **output)(declared) if makes else declared)

    return decorate


def own_options(function: F) -> F:
    """The arguments and options that a command's signature declares, each by itself or in a struct of options."""
    hints = get_type_hints(function, include_extras=True)
    for parameter in [*inspect.signature(function).parameters.values()][::-1]:
        name, hint, default = parameter.name, hints[parameter.name], parameter.default
        if (argument := _declared(hint, Argument)) is not None:
            function = _argument(name, hint, argument, default)(function)
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        elif _declared(hint, Option) is not None:
            given = msgspec.NODEFAULT if default is inspect.Parameter.empty else default
            function = field_option(name, hint, given)(function)
        elif _is_options(hint):
            function = options_of(hint, name)(function)
    return function


def _is_options(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _argument(name: str, hint: Any, argument: Argument, default: Any) -> Callable[[F], F]:
    plain, several = get_args(hint)[0], get_origin(get_args(hint)[0]) is tuple
    literal = get_origin(plain) is Literal
    kind: Any = click.Choice(get_args(plain)) if literal else _KINDS[argument.kind]()
    settings: dict[str, Any] = {"type": kind, "metavar": argument.metavar}
    if several:
        settings["nargs"] = -1
    if default is not inspect.Parameter.empty:
        settings |= {"required": False} if default in (None, ()) else {"default": default}
    elif several:
        settings["required"] = True
    return click.argument(name, **settings)


def parse_pairs(texts: Iterable[str]) -> dict[str, str]:
    parsed = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"{text!r} is not KEY=VALUE", hint="write it as -o k1=1.2")
        parsed[key.replace("-", "_")] = value
    return parsed


def field_option(name: str, hint: Any, default: Any, passed_as: str = "") -> Callable[[F], F]:
    """The option that a field declares in its type, with a default of its own or another."""
    option = _declared(hint, Option)
    assert option is not None
    flags = option.flags or (f"--{name.replace('_', '-')}",)
    return click.option(*flags, passed_as or name, **_settings(hint, option, default))


def _declared(hint: Any, kind: type[D]) -> D | None:
    return next((d for d in getattr(hint, "__metadata__", ()) if isinstance(d, kind)), None)


def _settings(hint: Any, option: Option, default: Any) -> dict[str, Any]:
    """What click is given for a field of this type."""
    plain, *metadata = get_args(hint)
    bounds = next((part for part in metadata if isinstance(part, msgspec.Meta)), msgspec.Meta())
    members = [m for m in get_args(plain) if m is not type(None)]
    if get_origin(plain) in (Union, UnionType) and len(members) == 1:
        plain, members = members[0], list(get_args(members[0]))
    several = option.kind == "pairs" or (
        get_origin(plain) is tuple and option.kind not in ("words", "depths", "measures")
    )
    if several:
        plain = members[0]
    settings: dict[str, Any] = {"help": option.help, "envvar": option.envvar, "metavar": option.metavar}
    if option.kind:
        settings["type"] = _KINDS[option.kind]()
    elif get_origin(plain) is Literal:
        settings["type"] = click.Choice(get_args(plain))
    elif plain in (int, float) and (bounds.ge is not None or bounds.le is not None):
        kind: Any = click.IntRange if plain is int else click.FloatRange
        settings["type"] = kind(bounds.ge, bounds.le)
    elif plain is bool:
        settings["is_flag"] = True
    else:
        settings["type"] = plain
    if option.names:
        settings["shell_complete"] = lambda ctx, param, typed: _beginning(option.names, typed)
    if option.bare is not None:
        settings |= {"is_flag": False, "flag_value": option.bare}
    if default is msgspec.NODEFAULT:
        return {**settings, "required": True, "multiple": several}
    if several:
        return {**settings, "multiple": True}
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    flag = isinstance(default, bool) and not any("/" in written for written in option.flags)
    shown = option.shown and default not in (None, "") and not flag
    return {**settings, "default": default, "show_default": shown}


class JudgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides the outcome of an answer, where it is not the rules."""

    judge: Annotated[str | None, Option("Answers: the model that decides outcomes.")] = None
    endpoint: Annotated[
        str | None, Option("Where the judge is, such as http://HOST/v1.", envvar="WHICHONE_ENDPOINT")
    ] = None
    outcome_words: Annotated[
        str | None, Option("Answers: a list of your own of phrases that ask, refuse and deny.", kind="file")
    ] = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[..., Any] | None]:
        """The judge that the options name, closed at the end; None for the rules."""
        from whichone.measures.outcomes import judging

        if self.judge is None:
            yield judging(words=self.outcome_words)
            return
        if self.endpoint is None:
            raise UsageError("a judge needs an endpoint", hint="--endpoint http://127.0.0.1:8000/v1")
        from whichone.chat.endpoint import EndpointOptions, open_endpoint

        with open_endpoint(EndpointOptions(url=self.endpoint, model=self.judge)) as opened:
            yield judging(opened, self.outcome_words)


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
