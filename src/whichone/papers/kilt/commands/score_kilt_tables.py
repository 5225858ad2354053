"""`whichone score kilt-tables`: the KILT paper's tables over prediction files."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option
from whichone.errors import UsageError


@click.command("kilt-tables")
@makes("out", plain=True)
@click.argument("gold", type=click.Path(exists=True, file_okay=False))
@click.argument("systems", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.argument("out", type=click.Path())
@json_option
def command(gold: str, systems: tuple[str, ...], out: str, as_json: bool) -> None:
    """Tables 2 to 5 and 7 to 17 of the KILT paper for SYSTEMS, as a page OUT.html.

    GOLD is a folder of KILT files, each system a folder of prediction files with the same names
    (nq-dev-kilt.jsonl). A system.toml beside them may give name, kind, parameters and index.

    \b
    whichone score kilt-tables gold predictions/bart predictions/rag kilt.html
    """
    from whichone.cli.output import emit_json
    from whichone.papers.kilt.report.tables import kilt_report

    if not out.endswith((".html", ".htm")):
        raise UsageError("the page to write comes last and ends in .html", where=out)
    written = kilt_report(gold, systems, out)
    if as_json:
        emit_json({"written": [str(path) for path in written]})
    else:
        click.echo(f"{out} ({len(written) - 1} tables beside it)")
