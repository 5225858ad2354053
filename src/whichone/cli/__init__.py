"""The command line: each command is loaded when it is asked for.

`COMMANDS` says where each is defined. Papers bring their own, such as `whichone score kilt`, by the `COMMANDS` that they offer.
"""

import atexit
import contextlib
import gc
import importlib
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import click

from whichone import registry
from whichone.errors import BadInput, Missing, UsageError, WhichoneError, did_you_mean, masked_text
from whichone.files.output import cache_folder, out_of_room

# The verbs in the order of work, each with its summary in `whichone --help`.
SECTIONS: dict[str, dict[str, str]] = {
    "Begin": {
        "demo": "The whole way on the built-in world: tables and a page.",
        "audit": "Which names in your documents are shared, and by whom.",
        "doctor": "What is installed, what is missing, how to get it.",
        "list": "Benchmarks, datasets, retrievers, readers, measures.",
        "fetch": "Download published datasets, checked by hash.",
    },
    "Make a benchmark": {
        "ingest": "Dumps or a catalogue into a knowledge base.",
        "corpus": "Pages or documents into a corpus that systems search.",
        "build": "A benchmark from a knowledge base or another benchmark.",
        "import": "Published datasets, your own questions, runs, answers.",
        "map": "Align evidence with pages of a knowledge base (KILT).",
        "world": "Invent a world, written as dumps, to test with.",
    },
    "Run systems": {
        "index": "Build a retriever's index over a corpus.",
        "search": "Ask an index one question, with the evidence.",
        "retrieve": "A retriever over all questions: a run.",
        "read": "A reader or LLM over all questions: answers.",
        "work": "An agent with tools over all questions: answers, traces.",
        "train": "Train a retriever, a re-ranker or a reader.",
        "experiment": "Everything that a TOML file crosses, resumed.",
    },
    "Measure": {
        "score": "Measures of a run or of answers, with intervals.",
        "compare": "Paired tests between runs or answers.",
        "check": "A gate for CI: exit 1 when a budget is exceeded.",
        "power": "How many names it takes to see a difference.",
        "reproduce": "A run made again from its manifest, and compared.",
    },
    "Show and share": {
        "show": "One knowledge base, name, benchmark, run or question.",
        "report": "Tables and figures of runs as one page.",
        "serve": "Explorer, study, annotation and leaderboard on the web.",
        "export": "Write in other formats: KILT, BEIR, TREC, Hugging Face.",
    },
    "Look after folders": {"verify": "Read folders in full and list all damage."},
}


# Commands for which numpy's threads would only spin, a tenth of a second each.
_NO_LINEAR_ALGEBRA = (["ingest"], ["export"], ["build", "amber"])
# Where each command is, as a function that is called like it; papers bring more.
_PLACES = {
    "build_commands": ("build absent", "build catalogue", "build noise", "build paq", "build small", "build splits"),
    "data_commands": (
        "audit", "corpus", "fetch", "import answers", "import open-questions", "import questions", "import run", "world",
    ),
    "folder_commands": ("doctor", "export", "list", "reproduce", "show", "verify"),
    "ingest_command": ("ingest",),
    "report_commands": ("demo", "experiment", "report", "serve"),
    "score_commands": ("check", "compare", "power", "score", "score three"),
    "system_commands": ("index", "read", "retrieve", "search", "work"),
    "train_commands": (
        "train linker", "train rag", "train reader", "train reranker", "train retriever", "train space",
    ),
}  # fmt: skip
COMMANDS = {
    words: f"whichone.cli.{module}:{re.sub('[ -]', '_', words)}_command"
    for module, commands in _PLACES.items()
    for words in commands
}


def _commands() -> dict[str, str]:
    """Every command, such as "score kilt", with where it is defined."""
    return COMMANDS | {name: registry.target("commands", name) for name in registry.names("commands")}


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
        if (place := commands.get(self.prefix + cmd_name)) is not None:
            module, _, attribute = place.partition(":")
            if module.partition(".")[0] != "whichone":
                return registry.find("commands", self.prefix + cmd_name)
            return getattr(importlib.import_module(module), attribute)
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
        commands = ((name, self.get_command(ctx, name)) for name in left)
        rows = [(name, command.get_short_help_str(limit=1000)) for name, command in commands if command]
        if rows:
            with formatter.section("Commands" if self.prefix else "Others"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            hint = did_you_mean(args[0], self.list_commands(ctx))
            raise UsageError(f"there is no command {args[0]!r}", hint=hint) from None


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
    gc.set_threshold(50_000)  # modules are no garbage: a tenth of the time that importing takes
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


UNEXPECTED = 70  # The exit code of what nobody expected, a defect of whichone or of what it calls


class Terminated(KeyboardInterrupt):
    """The process was asked to end: everything that an interrupt ends, ends the same way."""


def _terminate(signal_number: int, frame: FrameType | None) -> None:
    raise Terminated


def main() -> None:
    """A command as it is typed: errors become one message and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    words = sys.argv[1:]
    if any(words[: len(verb)] == verb for verb in _NO_LINEAR_ALGEBRA):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    threading.excepthook = lambda failed: _say(*_ended_by(failed.exc_value or SystemExit()))
    try:
        for word in (*words, str(Path.cwd())):  # places are kept in manifests, as text
            if any("\ud800" <= character <= "\udfff" for character in word):
                hint = "rename the file or folder"
                raise UsageError(f"{os.fsencode(word)!r:.200} is not UTF-8", hint=hint)
        code = whichone.main(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (Exception, KeyboardInterrupt) as error:
        code = _say(*_ended_by(error))
    sys.exit(code if isinstance(code, int) else 0)


def _say(message: str, code: int) -> int:
    if message:
        click.echo(f"whichone: {message}", err=True)
    return code


def _ended_by(error: BaseException) -> tuple[str, int]:
    """The message and exit code of an end that the command did not choose."""
    if isinstance(error, click.Abort):  # click makes it of an interrupt, and of any `EOFError`
        error = error.__cause__ or error
    if isinstance(error, click.ClickException):
        error.show()
        return "", 2
    if isinstance(error, WhichoneError):
        return str(error), error.exit_code
    if isinstance(error, SystemExit):
        return "", error.code if isinstance(error.code, int) else 0
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("whichone"):
        problem = Missing(
            f"needs a package that is not installed: {error.name}",
            hint="whichone doctor says which extra brings it",
        )
        return str(problem), problem.exit_code
    if isinstance(error, EOFError):
        return f"an input ended too early: {error or 'no more data'}", 3
    if isinstance(error, KeyboardInterrupt | click.Abort):
        from whichone.files.folder import may_go_on

        promise = "; start it again and it goes on" if may_go_on() else ""
        if isinstance(error, Terminated):
            return f"ended by SIGTERM{promise}", 128 + signal.SIGTERM
        return f"stopped{promise}", 130
    if (full := out_of_room(error)) is not None:
        return str(full), full.exit_code
    if isinstance(error, OSError) and error.errno is not None:  # a path that cannot be read or written
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return masked_text(f"{place}{error.strerror or error}"), BadInput.exit_code
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return masked_text(f"unexpected {what[:200]}; the trace is in {_kept_trace(error)}"), UNEXPECTED


def _kept_trace(error: BaseException) -> str:
    """A log of what nobody expected, with all that a report of it needs; where it is."""
    from whichone.versions import versions

    trace = "".join(traceback.format_exception(error))
    text = masked_text(f"whichone {shlex.join(sys.argv[1:])}\n{versions()}\n\n{trace}")
    for folder in (cache_folder() / "logs", Path(tempfile.gettempdir())):
        place = folder / f"whichone-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8", "backslashreplace")
            return str(place)
    return "no file, as none can be written"
