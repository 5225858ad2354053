"""`whichone export`: a benchmark, a run or a knowledge base in a format that others read."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option


@click.command()
@makes("out", plain=True)
@click.argument("folder", type=str)
@click.argument("out", type=click.Path())
@click.option(
    "--format", "form", required=True, help="Such as kilt, amber, beir, trec, dpr, hf, mteb."
)
@click.option(
    "--benchmark", default=None, help="A run: where its benchmark is stored, if it was moved."
)
@json_option
def command(folder: str, out: str, form: str, benchmark: str | None, as_json: bool) -> None:
    """Write a benchmark, a run or a knowledge base to OUT in another format.

    \b
    whichone export BENCH OUT --format kilt         also amber, ambigdocs, beir, trec, dpr, hf, mteb
    whichone export RUN run.txt --format trec       also kilt, amber, dpr
    whichone export ANSWERS predictions.json --format ambigdocs
    whichone export KB source.jsonl --format kilt
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.report.show import export

    written = export(folder, out, form, benchmark)
    if as_json:
        emit_json(written)
    else:
        emit_table([{"file": name, "records": count} for name, count in written.items()])
