"""The command line: one file a verb, found by file name, loaded when it is asked for.

`cli/retrieve.py` is `whichone retrieve`, `cli/import_run.py` is `whichone import run`. Papers bring
their own, such as `whichone score kilt`, by the `COMMANDS` that they offer.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import pkgutil
import signal
import sys
import threading
from types import FrameType
from typing import Any

import click

from whichone import registry
from whichone.cli.sections import SECTIONS
from whichone.errors import UsageError, WhichoneError, did_you_mean
from whichone.files.output import what_is_full

_NO_LINEAR_ALGEBRA = (["ingest"], ["export"], ["build", "amber"])
"""Commands for which numpy's threads would only spin, a tenth of a second each."""
_NOT_VERBS = {"again", "options", "output", "sections", "training_options"}


def _commands() -> dict[str, str]:
    """Every command, such as "score kilt", with where it is defined."""
    own = {
        _words(module.name): f"whichone.cli.{module.name}:command"
        for module in pkgutil.iter_modules(__path__)
        if module.name not in _NOT_VERBS
    }
    return own | {name: registry.target("commands", name) for name in registry.names("commands")}


def _words(module: str) -> str:
    """`score_kilt_tables` is typed as "score kilt-tables"."""
    verb, _, rest = module.partition("_")
    return f"{verb} {rest.replace('_', '-')}".strip()


class Verbs(click.Group):
    """The commands whose words begin with `prefix`."""

    def __init__(self, *args: Any, prefix: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        words = [w.removeprefix(self.prefix) for w in _commands() if w.startswith(self.prefix)]
        return sorted({w.partition(" ")[0] for w in words})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        commands = _commands()
        place = commands.get(self.prefix + cmd_name)
        if place is not None:
            module, _, attribute = place.partition(":")
            if module.partition(".")[0] != "whichone":
                return registry.find("commands", self.prefix + cmd_name)  # type: ignore[no-any-return]
            return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
        if not self.prefix and any(words.startswith(f"{cmd_name} ") for words in commands):
            return Verbs(name=cmd_name, prefix=f"{cmd_name} ", help=_GROUPS.get(cmd_name))
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with its whole summary; the verbs in the order of work."""
        left = dict.fromkeys(self.list_commands(ctx))
        for title, verbs in ({} if self.prefix else SECTIONS).items():
            with formatter.section(title):
                formatter.write_dl([(f"{n:<10}", verbs[n]) for n in verbs if n in left])
            left = {name: None for name in left if name not in verbs}
        rows = [(name, self._summary(ctx, name)) for name in left]
        if rows:
            with formatter.section("Commands" if self.prefix else "Others"):
                formatter.write_dl(rows)

    def _summary(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=1000) if command else ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            renamed = _RENAMED.get(f"{self.prefix}{args[0]}")
            raise UsageError(
                f"there is no command {args[0]!r}",
                hint=renamed or did_you_mean(args[0], self.list_commands(ctx)),
            ) from None


_RENAMED = {"passages": "whichone corpus KB psgs_w100.tsv.gz writes the same file"}
"""Commands of earlier releases, with what does their work now."""
_GROUPS = {
    "build": "Make a benchmark from a knowledge base, or parts of another benchmark.",
    "import": "Bring in published datasets, your own questions, runs and predictions.",
    "train": "Train a retriever, a re-ranker, a reader or RAG.",
    "map": "Align a dataset's evidence to a snapshot.",
}


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="whichone")
def whichone() -> None:
    """Does your retriever know which one you mean?

    Build benchmarks of namesakes, run retrievers, readers and agents on them, see whom they confuse.

    \b
    whichone demo            # the whole way on the built-in world, in seconds
    whichone retrieve builtin/amber runs/bm25 --retriever bm25
    whichone score runs/bm25 --measures acc@1,confused@20 --by role
    """


def run() -> None:
    """The console script: `main`, and then an end without taking the interpreter apart.

    That would take a fifth of a second after Ibis was imported, and more after torch.
    """
    try:
        main()
    except SystemExit as ended:
        if any(not t.daemon for t in threading.enumerate() if t is not threading.main_thread()):
            raise
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # what the command wrote, `main` has flushed
                stream.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)


class Terminated(KeyboardInterrupt):
    """The process was asked to end: everything that an interrupt ends, ends the same way."""


def _terminate(signal_number: int, frame: FrameType | None) -> None:
    raise Terminated


def _stopped(error: BaseException) -> int:
    """The message and exit code of an end that the command did not choose.

    click turns an interrupt, and any `EOFError`, into its own `Abort`.
    """
    cause = error.__cause__ if isinstance(error, click.Abort) else error
    if isinstance(cause, EOFError):
        click.echo(f"whichone: an input ended too early: {cause or 'no more data'}", err=True)
        return 3
    if isinstance(cause, Terminated):
        click.echo(f"whichone: ended by SIGTERM{_promise()}", err=True)
        return 128 + signal.SIGTERM
    click.echo(f"whichone: stopped{_promise()}", err=True)
    return 130


def _promise() -> str:
    from whichone.files.folder import goes_on

    return "; start it again and it goes on" if goes_on() else ""


def main() -> None:
    """A command as it is typed: errors become one message and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    words = sys.argv[1:]
    if any(words[: len(verb)] == verb for verb in _NO_LINEAR_ALGEBRA):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        code = whichone.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = 2
    except WhichoneError as error:
        click.echo(f"whichone: {error}", err=True)
        code = error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:  # a path that cannot be read or written
        if (full := what_is_full(error)) is not None:
            click.echo(f"whichone: {full}", err=True)
            sys.exit(3)
        if error.filename is None and error.errno is None:
            raise
        place = f"{error.filename}: " if error.filename is not None else ""
        click.echo(f"whichone: {place}{error.strerror or error}", err=True)
        code = 3
    except (click.Abort, KeyboardInterrupt) as error:
        code = _stopped(error)
    except Exception as error:
        if (full := what_is_full(error)) is not None:
            click.echo(f"whichone: {full}", err=True)
            sys.exit(3)
        if "OutOfMemory" not in type(error).__name__ or "duckdb" not in type(error).__module__:
            raise
        what = str(error).splitlines()[0]
        click.echo(
            f"whichone: the bound on memory is too small: {what}\n  give more --memory", err=True
        )
        code = 3
    sys.exit(code if isinstance(code, int) else 0)
