"""`whichone import run`: anybody's rankings as a run."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, on_error_option


@click.command()
@makes("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("run", type=click.Path())
@click.option("--benchmark", required=True, help="What was asked: a folder or builtin/NAME.")
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice(
        [
            "trec",
            "msmarco",
            "kilt",
            "dpr",
            "amber",
            "bootleg",
            "blink",
            "elq",
            "genre",
            "realm",
            "rag",
        ]
    ),
    help="A TREC run, Pyserini's MS MARCO layout, KILT or AmbER predictions, DPR results, or what"
    " a linker or RAG wrote.",
)
@click.option(
    "--knowledge",
    type=click.Path(exists=True, file_okay=False),
    default=None,
    help="A knowledge base for titles and Wikidata ids that the benchmark does not know.",
)
@click.option("--name", default=None, help="What to call the system.")
@on_error_option
@json_option
def command(
    file: str,
    run: str,
    benchmark: str,
    form: str,
    knowledge: str | None,
    name: str | None,
    on_error: str,
    as_json: bool,
) -> None:
    """Bring the rankings of FILE in as RUN, checked against its benchmark.

    \b
    whichone import run run.txt RUN --benchmark BENCH --format trec
    whichone import run bootleg_labels.jsonl RUN --benchmark BENCH --format bootleg
    """
    from pathlib import Path

    from whichone.benchmarks.benchmark import Benchmark
    from whichone.cli.output import emit_json, emit_table
    from whichone.runs.run_files import import_run

    opened = Benchmark.open(benchmark)
    place = benchmark if benchmark.startswith("builtin/") else str(Path(benchmark).resolve())
    runs = import_run(
        file,
        run,
        opened,
        place=place,
        format=form,
        name=name,
        on_error=on_error,
        knowledge=knowledge,
    )
    counts = {"run": runs.name, **runs.folder.manifest.counts}
    if as_json:
        emit_json(counts)
    else:
        emit_table([{"what": key.replace("_", " "), "": value} for key, value in counts.items()])
