"""`whichone world`: an invented world of any size in the real dump formats."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, seed_option


@click.command()
@makes("out", decides=False)
@click.option("--entities", type=int, required=True, help="How many entities may share names.")
@seed_option
@click.option(
    "--ambiguity", default=0.2, show_default=True, help="Share of entities that share their name."
)
@click.option(
    "--bearers-mean",
    default=2.7,
    show_default=True,
    help="Mean number of bearers of a shared name.",
)
@click.option(
    "--skew", default=1.0, show_default=True, help="Exponent of Zipf's law for page views."
)
@click.option("--words", default=120, show_default=True, help="Mean number of words on a page.")
@click.option(
    "--language", default="en", show_default=True, help="Language code of labels, wiki and views."
)
@click.option(
    "--workers", default=1, show_default=True, help="Processes; the bytes do not depend on it."
)
@json_option
@click.argument("out", type=click.Path(file_okay=False))
def command(
    entities: int,
    seed: int,
    ambiguity: float,
    bearers_mean: float,
    skew: float,
    words: int,
    language: str,
    workers: int,
    as_json: bool,
    out: str,
) -> None:
    """Invent a world and write it to OUT in the formats of the real dumps.

    Writes a Wikidata JSON dump, a MediaWiki XML export, a KILT knowledge source and a page-view file.
    Same options, same bytes. The text is filler around sentences that state most of the facts; the
    language code changes labels, sites and projects, not the words.

    \b
    whichone world --entities 20000 --seed 1 world
    whichone ingest --wikidata world/wikidata.json.bz2 --pages world/kilt_knowledgesource.json.gz \\
        --views world/pagecounts-totals.bz2 KB
    """
    from pathlib import Path

    from whichone.cli.output import emit_json, emit_table
    from whichone.world.invent import Invention, write_invented

    invention = Invention(
        entities=entities,
        seed=seed,
        ambiguity=ambiguity,
        bearers_mean=bearers_mean,
        skew=skew,
        words=words,
        language=language,
    )
    summary = write_invented(invention, Path(out), workers=workers)
    if as_json:
        emit_json(summary)
        return
    counts = summary["counts"]
    files = summary["files"]
    assert isinstance(counts, dict)
    assert isinstance(files, dict)
    emit_table([{"what": key, "count": count} for key, count in counts.items()])
    emit_table([{"file": str(Path(out) / key), "bytes": size} for key, size in files.items()])
