"""`whichone show`: what a folder contains and how it was made."""

from __future__ import annotations

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("folder", type=str)
@click.argument("name", required=False)
@click.option(
    "--explain",
    is_flag=True,
    help="A run: what the retriever said about the question with this id.",
)
@json_option
def command(folder: str, name: str | None, explain: bool, as_json: bool) -> None:
    """Show a knowledge base (or one NAME in it), a benchmark, a run or a result.

    \b
    whichone show KB "Abe Lincoln"
    whichone show BENCH
    whichone show RUN
    whichone show RUN QUESTION_ID --explain
    """
    from whichone.cli.output import emit_json
    from whichone.report.show import show

    document, text = show(folder, name, explain=explain)
    if as_json:
        emit_json(document)
    else:
        click.echo(text)
