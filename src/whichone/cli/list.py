"""`whichone list`: what there is to choose from."""

from __future__ import annotations

import click

from whichone.cli.options import json_option

KINDS = ("benchmarks", "datasets", "retrievers", "readers", "measures")

SHOWN = {"datasets": ("name", "file", "bytes", "checked", "here", "licence")}
"""Columns of a table where the JSON has more."""


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@json_option
def command(kind: str, as_json: bool) -> None:
    """List benchmarks, datasets, retrievers, readers or measures by name.

    \b
    whichone list retrievers
    """
    from whichone.catalogue_of_names import listed
    from whichone.cli.output import emit_json, emit_table

    rows = listed(kind)
    if as_json:
        emit_json(rows)
    else:
        emit_table(rows, columns=SHOWN.get(kind, ()))
