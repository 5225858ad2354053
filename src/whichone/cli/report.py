"""`whichone report`: one self-contained page."""

from __future__ import annotations

from typing import Literal

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, moved_benchmark_option
from whichone.errors import UsageError


@click.command()
@makes("places", plain=True)
@click.argument("places", nargs=-1, required=True, type=click.Path(), metavar="RUN... OUT.html")
@moved_benchmark_option
@click.option(
    "--gap-scale",
    type=click.Choice(["views", "log10"]),
    default="log10",
    show_default=True,
    help="Scale of the popularity gap in Figure 4; the authors' data give log10 of views.",
)
@click.option("--redact", is_flag=True, help="Leave out names, titles and texts: numbers only.")
@click.option(
    "--names",
    default=200,
    show_default=True,
    help="How many of the most telling names get a panel.",
)
@click.option(
    "--knowledge",
    type=click.Path(exists=True, file_okay=False),
    default=None,
    help="Knowledge base whose entities are sampled for Figure 2; the built-in one is found by itself.",
)
@click.option(
    "--study",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    help="answers.csv of a user study in `whichone serve`: the human row of Table 8.",
)
@json_option
def command(
    places: tuple[str, ...],
    benchmark: tuple[str, ...],
    gap_scale: Literal["views", "log10"],
    redact: bool,
    names: int,
    knowledge: str | None,
    study: str | None,
    as_json: bool,
) -> None:
    """Write the papers' tables and figures for RUNS to OUT.html, and each table and figure beside it.

    Folders of answers may be among the runs: they give AmbER's Table 7, KILT's Tables 3 and 5, and
    what confusion costs, where a reader was shown both gold and another bearer's pages.

    \b
    whichone report RUN_A RUN_B report.html
    whichone report RUN ANSWERS_GOLD ANSWERS_OTHER_BEARER report.html
    whichone report RUN ANSWERS_GOLD report.html --knowledge KB --study answers.csv
    """
    from whichone.cli.output import emit_json
    from whichone.report.report import make_report

    *runs, out = places
    if not out.endswith((".html", ".htm")) or not runs:
        raise UsageError(
            "runs first, then the page to write", hint="whichone report RUN... OUT.html"
        )
    written = make_report(
        runs,
        out,
        benchmark=benchmark or None,
        gap_scale=gap_scale,
        redact=redact,
        panels=names,
        knowledge=knowledge,
        study=study,
    )
    if as_json:
        emit_json({"written": [str(p) for p in written]})
    else:
        click.echo(f"{out} ({len(written) - 1} tables and figures beside it)")
