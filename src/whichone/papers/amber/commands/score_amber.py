"""`whichone score amber`: AmbER's retrieval scores of a prediction file."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import json_option, k_option, on_error_option, per_query_option


@click.command("amber")
@click.argument("sets", type=click.Path())
@click.argument("predictions", type=click.Path())
@k_option("1,5,20")
@on_error_option
@per_query_option
@json_option
def command(
    sets: str,
    predictions: str,
    depths: tuple[int, ...],
    on_error: Any,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score PREDICTIONS for the AmbER sets in SETS, in percent as the paper prints them.

    PREDICTIONS: the released form, KILT's, a TREC run, or a run folder.

    \b
    whichone score amber qa/amber_sets.jsonl predictions.jsonl -k 1,5,20 --json
    """
    from msgspec import to_builtins

    from whichone.cli.output import emit_json, emit_table, write_rows
    from whichone.papers.amber.scores.scores import evaluate_amber

    result = evaluate_amber(sets, predictions, depths, on_error)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    for skipped in result.skipped:
        click.echo(f"skipped: {skipped}", err=True)
    if per_query:
        write_rows(per_query, result.rows)
    scores = {str(k): to_builtins(value) for k, value in result.scores.items()}
    if as_json:
        emit_json(scores)
    else:
        emit_table([{"k": int(k), **values} for k, values in scores.items()])
