"""`whichone reproduce`: a run made again from its manifest, and compared."""

from __future__ import annotations

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("run", type=click.Path(exists=True))
@click.argument("out", type=click.Path(), required=False)
@click.option(
    "--benchmark", default=None, help="Where the benchmark is stored now, if it was moved."
)
@json_option
def command(run: str, out: str | None, benchmark: str | None, as_json: bool) -> None:
    """Make RUN again from what its manifest says, and compare the two; OUT keeps the new one.

    Exits 0 when every question has the same passages in the same order, 1 otherwise. Scores may differ in their last
    digits between machines; by how much is said.

    \b
    whichone reproduce RUN
    whichone reproduce RUN RUN_AGAIN --benchmark BENCH
    """
    from whichone.cli.output import emit_json
    from whichone.runs.retrieve import reproduce

    result = reproduce(run, out, benchmark=benchmark)
    if as_json:
        emit_json(result)
    elif result.same:
        click.echo(f"{run}: the same, to the last digit of every score")
    elif result.same_order:
        largest = result.largest_difference
        click.echo(f"{run}: the same order; scores differ by {largest:.2g} at most")
    else:
        some = ", ".join(result.other_order[:3])
        click.echo(
            f"{run}: {len(result.other_order):,} of {result.questions:,} questions have another order: {some}"
        )
    if not result.same_order:
        raise click.exceptions.Exit(1)
