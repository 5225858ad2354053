"""`whichone import amber`: released AmbER files as a benchmark."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option


@click.command()
@makes("bench")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.argument("bench", type=click.Path())
@click.option(
    "--task",
    type=click.Choice(["qa", "sf", "fc"]),
    default=None,
    help="Of all files; else told by folder name or content.",
)
@click.option(
    "--collection", default="amber", show_default=True, help="What to call the collection."
)
@click.option(
    "--source", default="enwiki", show_default=True, help="Source that page ids belong to."
)
@json_option
def command(
    files: tuple[str, ...],
    bench: str,
    task: str | None,
    collection: str,
    source: str,
    as_json: bool,
) -> None:
    """Make a benchmark BENCH of amber_sets.jsonl FILES, or of a folder with qa, sf and fc in it.

    The files name pages but hold no text.

    \b
    whichone import amber OUT/qa/amber_sets.jsonl BENCH
    whichone import amber OUT BENCH --collection human
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.papers.amber.files import import_amber

    made = import_amber(list(files), bench, task=task, collection=collection, source=source)
    counts = {"benchmark": made.id, **made.folder.manifest.counts}
    if as_json:
        emit_json(counts)
    else:
        emit_table([{"what": key.replace("_", " "), "": value} for key, value in counts.items()])
