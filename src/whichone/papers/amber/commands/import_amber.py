"""`whichone import amber`: released AmbER files as a benchmark."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import gold_outside_option, json_option


@click.command()
@makes("bench")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.argument("bench", type=click.Path())
@click.option(
    "--task",
    type=click.Choice(["qa", "sf", "fc"]),
    default=None,
    help="Of all files; else recognised by folder name or content.",
)
@click.option(
    "--collection",
    multiple=True,
    help="What to call the collection, of all FILES or of each; else recognised by folder names and properties.",
)
@click.option(
    "--corpus",
    type=click.Path(exists=True),
    help="The corpus to ask: its folder, or a benchmark's.",
)
@click.option("--knowledge", type=click.Path(exists=True), help="A knowledge base to ask instead.")
@click.option(
    "--words", default=100, show_default=True, help="Words a passage of it; 0: whole pages."
)
@click.option(
    "--source", default="enwiki", show_default=True, help="Source that page ids belong to."
)
@gold_outside_option
@json_option
def command(
    files: tuple[str, ...],
    bench: str,
    task: str | None,
    collection: tuple[str, ...],
    corpus: str | None,
    knowledge: str | None,
    words: int,
    source: str,
    as_json: bool,
) -> None:
    """Make a benchmark BENCH of amber_sets.jsonl FILES, or of folders with qa, sf and fc in them.

    The files name pages but hold no text: with --corpus or --knowledge they can be searched. Pages are
    found by id, else by title.

    \b
    whichone import amber OUT/qa/amber_sets.jsonl BENCH
    whichone import amber OUT BENCH --collection human --knowledge KB
    whichone import amber data/human data/nonhuman BENCH --corpus CORPUS
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.papers.amber.files import import_amber

    created = import_amber(
        list(files), bench, task=task, collection=collection or None, source=source,
        corpus=corpus, knowledge=knowledge, words=words,
    )  # fmt: skip
    counts = {"benchmark": created.id, **created.folder.manifest.counts}
    if as_json:
        emit_json(counts)
    else:
        emit_table([{"what": key.replace("_", " "), "": value} for key, value in counts.items()])
