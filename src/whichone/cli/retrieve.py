"""`whichone retrieve`: run a retriever over a benchmark."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, json_option, names_of
from whichone.errors import UsageError


@click.command()
@makes("run", decides=False)
@click.argument("benchmark", type=BenchmarkName(), nargs=-1, required=True, metavar="BENCHMARK...")
@click.argument("run", type=click.Path())
@click.option(
    "--retriever",
    default="bm25",
    show_default=True,
    shell_complete=names_of("retrievers"),
    help="Its name (see `whichone list retrievers`), or module:function of your own.",
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the retriever, such as k1=1.2.",
)
@click.option(
    "--encoder",
    default=None,
    metavar="PATH|NAME|PACKAGE",
    help="The encoder of dense and namesake; the same as -o encoder=. `none` uses words only.",
)
@click.option(
    "--model",
    default=None,
    metavar="FOLDER|FILE.onnx|NAME",
    help="The model of rerank, late, sparse and blink; the same as -o model=.",
)
@click.option("-k", default=100, show_default=True, help="How many passages a question.")
@click.option(
    "--returns",
    type=click.Choice(["page", "passage"]),
    default=None,
    help="What your function's ids are.",
)
@click.option(
    "--index",
    "index",
    type=click.Path(),
    default=None,
    help="One finished index (`whichone index`) to ask; it says which retriever it is. With lucene: a folder of Lucene's.",
)
@click.option("--name", default=None, help="The system's name in tables.")
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="Stop at a failing question, or keep it as a failure, scored as wrong.",
)
@click.option("--timeout", type=float, default=None, help="Seconds that one block may take.")
@click.option(
    "--block", default=256, show_default=True, help="Questions asked at once and kept together."
)
@json_option
def command(
    benchmark: tuple[str, ...],
    run: str,
    retriever: str,
    options: tuple[str, ...],
    encoder: str | None,
    model: str | None,
    k: int,
    returns: str | None,
    index: str | None,
    name: str | None,
    on_error: str,
    timeout: float | None,
    block: int,
    as_json: bool,
) -> None:
    """Ask every question of BENCHMARK and keep the rankings in RUN.

    Several benchmarks over one corpus, or a folder that contains them, give one run, in which every
    question has its benchmark's name before its id; tables have a column `benchmark`. Killed and
    started again, it goes on after the last finished block.

    \b
    whichone retrieve BENCH RUN --retriever bm25 -o k1=1.2 -o b=0.75
    whichone retrieve BENCH RUN --retriever namesake --encoder none
    whichone retrieve BENCH RUN --retriever rerank -o run=FIRST --model FOLDER/model.onnx
    whichone retrieve BENCH RUN --retriever my_package.search:search
    whichone retrieve BENCH RUN --retriever lucene --index FOLDER
    whichone retrieve AMBER_H AMBER_N RUN && whichone score RUN --by benchmark,role
    """
    from whichone.cli.output import emit_json
    from whichone.runs.retrieve import retrieve

    if k < 1 or block < 1:
        raise UsageError("-k and --block must be at least 1")
    named = {"encoder": encoder, "model": model}
    finished_run = retrieve(
        benchmark,
        run,
        retriever=retriever,
        options={**parse_options(options), **{n: v for n, v in named.items() if v}},
        k=k,
        returns=returns,
        index=index,
        name=name,
        on_error=on_error,
        timeout=timeout,
        block=block,
    )
    counts, details = finished_run.folder.manifest.counts, finished_run.folder.manifest.made
    if as_json:
        emit_json({"run": run, "name": finished_run.name, "counts": counts, "made": details})
        return
    click.echo(
        f"{run}: {finished_run.name}, {counts['questions']:,} questions, {counts['failures']:,} failures, "
        f"{counts['empty']:,} without result; p50 {details.get('latency_p50', 0) * 1000:.1f} ms, "
        f"p95 {details.get('latency_p95', 0) * 1000:.1f} ms"
    )


def parse_options(options: tuple[str, ...]) -> dict[str, str]:
    parsed = {}
    for option in options:
        key, sign, value = option.partition("=")
        if not sign:
            raise UsageError(f"{option!r} is not KEY=VALUE", hint="write it as -o k1=1.2")
        parsed[key.replace("-", "_")] = value
    return parsed
