"""`whichone import answers`: another system's output file as a folder of answers."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, json_option, on_error_option


@click.command()
@makes("answers")
@click.argument("benchmark", type=BenchmarkName())
@click.argument("file", type=click.Path())
@click.argument("answers", type=click.Path())
@click.option("--name", default=None, help="The system's name in tables; else the file's.")
@on_error_option
@json_option
def command(
    benchmark: str, file: str, answers: str, name: str | None, on_error: str, as_json: bool
) -> None:
    """Take what another system said to the questions of BENCHMARK from FILE into ANSWERS.

    FILE has a line a question: KILT's predictions, FEVER's (NOT ENOUGH INFO counts as REFUTES), or
    objects with id, answer and passages. Questions it does not answer are failures.

    \b
    whichone import answers BENCH predictions.jsonl ANSWERS --name "my system"
    """
    from whichone.cli.output import emit_json
    from whichone.runs.predictions import import_answers

    answer_run = import_answers(benchmark, file, answers, name=name, on_error=on_error)
    counts = answer_run.folder.manifest.counts
    if as_json:
        emit_json({"answers": answers, "name": answer_run.name, "counts": counts})
        return
    counts_text = ", ".join(
        f"{value:,} {key.replace('_', ' ')}" for key, value in counts.items() if value
    )
    click.echo(f"{answers}: {answer_run.name}, {counts_text}")
