"""`whichone migrate`: folders of the first format in the present one."""

from __future__ import annotations

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@json_option
def command(folder: str, as_json: bool) -> None:
    """Turn the benchmark in FOLDER, or all below it, from the first format into the present one.

    Folders of the first format open as they are; migrated ones are mapped into memory instead of
    read. A benchmark keeps its id: runs and answers over it still match.

    \b
    whichone migrate BENCH
    whichone migrate all-my-benchmarks/
    """
    from whichone.benchmarks.migrate import migrate
    from whichone.cli.printing import emit_json

    turned = [str(place) for place in migrate(folder)]
    if as_json:
        emit_json({"migrated": turned})
    else:
        click.echo(f"{len(turned)} benchmarks migrated" if turned else "nothing to migrate")
