"""The command line: each command is loaded when it is asked for.

`COMMANDS` says where each is defined. Papers bring their own, such as `whichone score kilt`, by the `COMMANDS` that they offer.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

import click

from whichone import registry
from whichone.errors import UsageError, WhichoneError, did_you_mean
from whichone.files.output import what_is_full

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
    "Look after folders": {
        "verify": "Read folders in full and list all damage.",
        "migrate": "Bring folders of an older format up to date.",
    },
}


# The command line: each command is loaded when it is asked for.


_NO_LINEAR_ALGEBRA = (["ingest"], ["export"], ["build", "amber"])
"""Commands for which numpy's threads would only spin, a tenth of a second each."""
COMMANDS = {
    "audit": "whichone.cli.data_commands:audit_command",
    "build catalogue": "whichone.cli.build_commands:build_catalogue_command",
    "build noise": "whichone.cli.build_commands:build_noise_command",
    "build paq": "whichone.cli.build_commands:build_paq_command",
    "build small": "whichone.cli.build_commands:build_small_command",
    "build splits": "whichone.cli.build_commands:build_splits_command",
    "check": "whichone.cli.score_commands:check_command",
    "compare": "whichone.cli.score_commands:compare_command",
    "corpus": "whichone.cli.data_commands:corpus_command",
    "demo": "whichone.cli.report_commands:demo_command",
    "doctor": "whichone.cli.folder_commands:doctor_command",
    "experiment": "whichone.cli.report_commands:experiment_command",
    "export": "whichone.cli.folder_commands:export_command",
    "fetch": "whichone.cli.data_commands:fetch_command",
    "import answers": "whichone.cli.import_commands:import_answers_command",
    "import open-questions": "whichone.cli.import_commands:import_open_questions_command",
    "import questions": "whichone.cli.import_commands:import_questions_command",
    "import run": "whichone.cli.import_commands:import_run_command",
    "index": "whichone.cli.system_commands:index_command",
    "ingest": "whichone.cli.data_commands:ingest_command",
    "list": "whichone.cli.folder_commands:list_command",
    "migrate": "whichone.cli.migrate:command",
    "power": "whichone.cli.score_commands:power_command",
    "read": "whichone.cli.system_commands:read_command",
    "report": "whichone.cli.report_commands:report_command",
    "reproduce": "whichone.cli.folder_commands:reproduce_command",
    "retrieve": "whichone.cli.system_commands:retrieve_command",
    "score": "whichone.cli.score_commands:score_command",
    "score three": "whichone.cli.score_commands:score_three_command",
    "search": "whichone.cli.system_commands:search_command",
    "serve": "whichone.cli.report_commands:serve_command",
    "show": "whichone.cli.folder_commands:show_command",
    "train linker": "whichone.cli.train_commands:train_linker_command",
    "train rag": "whichone.cli.train_commands:train_rag_command",
    "train reader": "whichone.cli.train_commands:train_reader_command",
    "train reranker": "whichone.cli.train_commands:train_reranker_command",
    "train retriever": "whichone.cli.train_commands:train_retriever_command",
    "train space": "whichone.cli.train_commands:train_space_command",
    "verify": "whichone.cli.folder_commands:verify_command",
    "work": "whichone.cli.system_commands:work_command",
    "world": "whichone.cli.data_commands:world_command",
}
"""Where each command is; papers bring more."""


def _commands() -> dict[str, str]:
    """Every command, such as "score kilt", with where it is defined."""
    return COMMANDS | {
        name: registry.target("commands", name) for name in registry.names("commands")
    }


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
