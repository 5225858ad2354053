"""`whichone doctor`: what is installed, what is missing."""

from __future__ import annotations

import click

from whichone.cli.options import json_option
from whichone.errors import Missing


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Say what is installed, what is missing, and how to get it.

    Exits with 4 when a part of the core is missing; extras are optional.
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.doctor import as_rows, examine

    findings = examine()
    if as_json:
        emit_json(findings)
    else:
        emit_table(as_rows(findings))
    lost = [f.what for f in findings if f.kind == "core" and f.version is None]
    if lost:
        raise Missing(
            f"the core lacks {', '.join(lost)}", hint="pip install --force-reinstall whichone"
        )
