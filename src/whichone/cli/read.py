"""`whichone read`: let a reader answer a benchmark's questions."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, json_option, names_of, seed_option
from whichone.errors import UsageError


@click.command()
@makes("answers", decides=False)
@click.argument("benchmark", type=BenchmarkName(), nargs=-1, required=True, metavar="BENCHMARK...")
@click.argument("answers", type=click.Path())
@click.option(
    "--reader",
    default="llm",
    show_default=True,
    shell_complete=names_of("readers"),
    help="Its name (see `whichone list readers`), or module:function of your own.",
)
@click.option(
    "--passages",
    type=click.Choice(["gold", "retrieved", "gold+retrieved", "none", "other-bearer"]),
    default="gold",
    show_default=True,
    help="What the reader is shown.",
)
@click.option("--run", type=click.Path(), default=None, help="The run whose passages are shown.")
@click.option("--depth", type=int, default=None, help="At most so many passages; 20, AmbigDocs 5.")
@click.option(
    "--shuffled/--ranked",
    default=None,
    help="A seeded order of its own for each question, or by rank; AmbigDocs: shuffled.",
)
@click.option(
    "--page-passages",
    default=1,
    show_default=True,
    help="How many passages represent a page, if the run returned pages; 0: all.",
)
@click.option(
    "--endpoint", default=None, envvar="WHICHONE_ENDPOINT", help="Such as http://HOST/v1."
)
@click.option(
    "--model",
    default=None,
    envvar="WHICHONE_MODEL",
    help="The endpoint's name for it; else a checkpoint.",
)
@click.option(
    "--prompt", default=None, help="zero-shot, few-shot, which-one, one-by-one or a file."
)
@click.option("--concurrency", type=int, default=None, help="Calls at once; 16 when not given.")
@click.option("--cache", default=None, help="File of calls already made, or none.")
@click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the reader."
)
@click.option("--name", default=None, help="The system's name in tables.")
@click.option(
    "--limit",
    type=int,
    default=None,
    help="Ask only so many questions, of names drawn by --seed, all tasks of a name together.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Ask questions of this task only, such as qa, sf or fc; may be given several times.",
)
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="skip",
    show_default=True,
    help="Keep a failing question as a failure, scored as wrong; or stop.",
)
@click.option(
    "--retry", is_flag=True, help="In finished answers: ask again what failed or came back empty."
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    help="Ask everything so many times, past the cache, and count the questions whose answers differ.",
)
@seed_option
@json_option
def command(
    benchmark: tuple[str, ...],
    answers: str,
    reader: str,
    passages: str,
    run: str | None,
    depth: int | None,
    shuffled: bool | None,
    page_passages: int,
    endpoint: str | None,
    model: str | None,
    prompt: str | None,
    concurrency: int | None,
    cache: str | None,
    options: tuple[str, ...],
    name: str | None,
    limit: int | None,
    tasks: tuple[str, ...],
    on_error: str,
    retry: bool,
    repeat: int,
    seed: int,
    as_json: bool,
) -> None:
    """Let a reader answer every question of BENCHMARK and keep what it says in ANSWERS.

    Several benchmarks over one corpus, or a folder that contains them, are read together.

    Killed and started again, it goes on after the last answer. A key for the endpoint is taken from
    WHICHONE_API_KEY or OPENAI_API_KEY, and is never written anywhere. A reader is asked the tasks that
    it can do; with --task it is asked those only.

    \b
    whichone read BENCH ANSWERS --passages gold --endpoint http://127.0.0.1:8000/v1 --model NAME
    whichone read BENCH ANSWERS --passages retrieved --run RUN --reader my_package.rag:answer
    whichone read BENCH ANSWERS --passages other-bearer --reader kb-lookup
    whichone read BENCH ANSWERS --task sf --reader seq2seq --model FOLDER
    whichone read AMBER_H AMBER_N ANSWERS --passages retrieved --run RUN --reader extractive
    whichone read BENCH ANSWERS --endpoint http://127.0.0.1:8000/v1 --model NAME --retry
    """
    from whichone.cli.output import emit_json
    from whichone.cli.retrieve import parse_options
    from whichone.runs.read import read_repeatedly

    flags = {
        "endpoint": endpoint,
        "model": model,
        "prompt": prompt,
        "concurrency": concurrency,
        "cache": cache,
    }
    given = {key: value for key, value in flags.items() if value is not None}
    if reader != "llm":
        given = {key: value for key, value in given.items() if _typed(key)}
        stray = [key for key in given if key != "model"]
        if stray:
            raise UsageError(f"--{stray[0]} is for the reader llm, not for {reader}")
    if limit is not None and limit < 1:
        raise UsageError("--limit must be at least 1")
    answer_run, differing = read_repeatedly(
        benchmark,
        answers,
        repeat,
        reader=reader,
        options={**given, **parse_options(options)},
        passages=passages,
        depth=depth,
        shuffled=shuffled,
        page_passages=page_passages,
        seed=seed,
        run=run,
        name=name,
        limit=limit,
        tasks=tasks,
        on_error=on_error,
        retry=retry,
    )
    counts, details = answer_run.folder.manifest.counts, answer_run.folder.manifest.made
    if as_json:
        document = {"answers": answers, "name": answer_run.name, "counts": counts, "made": details}
        emit_json({**document, **({"repeated": differing} if differing else {})})
        return
    counts_text = ", ".join(
        f"{value:,} {key.replace('_', ' ')}" for key, value in counts.items() if value
    )
    click.echo(
        f"{answers}: {answer_run.name}, {counts_text}; p50 {details.get('latency_p50', 0):.3f} s"
    )
    if differing:
        click.echo(
            f"asked {differing['times']} times: {differing['differing']:,} of {differing['questions']:,} questions"
            " were answered differently"
        )


def _typed(key: str) -> bool:
    """Whether an option appears on the command line; the environment's are for the reader llm."""
    source = click.get_current_context().get_parameter_source(key)
    return source is click.core.ParameterSource.COMMANDLINE
