"""`whichone demo`: the whole way, in seconds."""

from __future__ import annotations

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("out", type=click.Path(file_okay=False), default="whichone-demo")
@json_option
def command(out: str, as_json: bool) -> None:
    """Take the built-in world from raw dumps to a table and a page, all under OUT.

    Killed at any moment and started again, it ends with the same bytes.

    \b
    whichone demo
    whichone demo --json
    """
    from pathlib import Path

    from whichone.cli.output import emit_json, emit_table
    from whichone.demo import run_demo
    from whichone.measures.summary import DEPTH, table_5, table_6
    from whichone.progress import talk

    demo = run_demo(Path(out))
    if as_json:
        emit_json(demo.document())
    else:
        emit_table(
            table_5(demo.rows), title="Gold page first, percent (∀: every query of a name right)"
        )
        emit_table(
            table_6(demo.rows),
            title=f"Confused within {DEPTH} pages, percent: a namesake above the gold page",
        )
        click.echo("Intervals by name set are in the page and in --json.")
    talk(f"the page: {demo.page.resolve()}")
