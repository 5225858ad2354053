"""`whichone ingest`: dumps or a catalogue in, a knowledge base out."""

from __future__ import annotations

from pathlib import Path

import click

from whichone.cli.again import makes
from whichone.cli.options import Memory, json_option, on_error_option

_FILE = click.Path(dir_okay=False)
_READER = "whichone.knowledge.merge"
_LARGE = 8 << 20  # bytes of dumps that are worth all workers


@click.command()
@makes("kb", decides=False)
@click.option("--wikidata", type=_FILE, help="Wikidata's JSON dump: .bz2, .gz, .zst or plain.")
@click.option(
    "--pages", type=_FILE, multiple=True,
    help="Pages: a MediaWiki XML dump or KILT's knowledge source. May be given several times.",
)  # fmt: skip
@click.option(
    "--views", type=_FILE, multiple=True,
    help="Page views in any format Wikimedia has published. May be given several times.",
)  # fmt: skip
@click.option(
    "--catalogue", type=_FILE, multiple=True,
    help="A TOML file that says what the columns of a CSV, JSON-lines or Parquet file mean.",
)  # fmt: skip
@click.option(
    "--redirects", type=_FILE, multiple=True,
    help="MediaWiki's redirect.sql and page.sql (both): names that lead to pages of KILT's source.",
)  # fmt: skip
@click.option(
    "--language", "languages", multiple=True,
    help="Language of names and pages (en, or what a dump says of itself). Given several times: "
    "names of all, pages of the first.",
)  # fmt: skip
@click.option("--wiki", help="Wiki whose pages items must have, if not that of the language.")
@click.option(
    "--properties", default="all", show_default=True, metavar="all|FILE|NAME",
    help="Which facts: all, a file with one property id a line, or a collection (amber, "
    "amber-human, amber-nonhuman, entityquestions, popqa).",
)  # fmt: skip
@click.option("--without-page", is_flag=True, help="Also the facts of items without a page.")
@click.option(
    "--superclasses", is_flag=True,
    help="Give items also the classes above their types (P279), behind those they have.",
)  # fmt: skip
@click.option(
    "--views-rules", type=click.Choice(["summed", "published"]), default="summed", show_default=True,
    help="Titles cleaned and views added up, or as AmbER's released program reads them.",
)  # fmt: skip
@click.option(
    "--workers",
    type=click.IntRange(1),
    envvar="WHICHONE_WORKERS",
    help="Processes. [default: all cores]",
)
@click.option(
    "--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True,
    help="Read on this machine, or on a Spark cluster that sees the same files.",
)  # fmt: skip
@click.option(
    "--master", default="local[*]", show_default=True, envvar="WHICHONE_MASTER",
    help="Spark's master, such as spark://host:7077.",
)  # fmt: skip
@click.option(
    "--memory", type=Memory(), default="4GB", show_default=True, envvar="WHICHONE_MEMORY",
    help="Bound on the memory of sorting and joining; beyond it they go to disk.",
)  # fmt: skip
@on_error_option
@click.option(
    "--bad-share", type=click.FloatRange(0, 1), default=0.001, show_default=True,
    help="With --on-error skip: the share of bad records above which it fails all the same.",
)  # fmt: skip
@click.option(
    "--repack",
    type=click.Choice(["zst"]),
    help="Also write the dumps as .zst beside the originals.",
)
@click.option("--restart", is_flag=True, help="Drop unfinished work instead of going on with it.")
@json_option
@click.argument("kb", type=click.Path(file_okay=False))
def command(
    wikidata: str | None,
    pages: tuple[str, ...],
    views: tuple[str, ...],
    catalogue: tuple[str, ...],
    redirects: tuple[str, ...],
    languages: tuple[str, ...],
    wiki: str | None,
    properties: str,
    without_page: bool,
    superclasses: bool,
    views_rules: str,
    workers: int | None,
    engine: str,
    master: str,
    memory: str,
    on_error: str,
    bad_share: float,
    repack: str | None,
    restart: bool,
    as_json: bool,
    kb: str,
) -> None:
    """Take dumps or a catalogue into the knowledge base KB.

    What KB contains already is kept. A run that was stopped goes on where it was.

    \b
    whichone ingest --wikidata wikidata.json.bz2 --pages kilt_knowledgesource.json.gz \\
        --views pagecounts-totals.bz2 --properties amber KB
    whichone ingest --catalogue places.toml KB
    whichone ingest --redirects enwiki-redirect.sql.gz --redirects enwiki-page.sql.gz KB
    """
    from typing import Literal, cast

    from whichone.files.pools import available_cores, start_workers

    cores, started = workers or available_cores(), []
    if engine == "duckdb" and cores > 1 and _is_large(wikidata, *pages):
        started = start_workers(cores, _READER)  # they import while this process does

    from whichone.cli.output import emit_json, emit_table
    from whichone.knowledge.ingest import Options, chosen_sources, ingest

    sources = chosen_sources(
        wikidata=wikidata,
        pages=pages,
        views=views,
        catalogues=catalogue,
        redirects=redirects,
        languages=languages,
        wiki=wiki,
        properties=properties,
        without_page=without_page,
        superclasses=superclasses,
        views_rules=views_rules,
    )
    options = Options(
        workers=cores,
        memory=memory,
        skip_bad=on_error == "skip",
        bad_share=bad_share,
        repack=repack is not None,
        restart=restart,
        engine=cast("Literal['duckdb', 'spark']", engine),
        master=master,
    )
    manifest = ingest(kb, sources, options, started=started)
    if as_json:
        emit_json({"rows": manifest.counts, "sources": manifest.sources})
        return
    emit_table([{"table": name, "rows": rows} for name, rows in manifest.counts.items()])
    emit_table(
        [
            {"file": source["file"], "what": what, "count": count}
            for source in manifest.sources
            for what, count in source["counts"].items()
        ]
    )


def _is_large(*dumps: str | None) -> bool:
    files = (Path(dump) for dump in dumps if dump)
    return sum(file.stat().st_size for file in files if file.is_file()) > _LARGE
