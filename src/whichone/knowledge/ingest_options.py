"""What is ingested, and how: the options of `whichone ingest` and of its functions. It imports next to nothing."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from whichone.options import OnError, Option


class SourceOptions(Struct, frozen=True, kw_only=True):
    wikidata: Annotated[
        str | None, Option("Wikidata's JSON dump: .bz2, .gz, .zst or plain.", kind="written")
    ] = None
    pages: Annotated[
        tuple[str, ...],
        Option(
            "Pages: a MediaWiki XML dump or KILT's knowledge source. May be given several times.",
            kind="written",
        ),
    ] = ()
    views: Annotated[
        tuple[str, ...],
        Option(
            "Page views in any format Wikimedia has published. May be given several times.", kind="written"
        ),
    ] = ()
    catalogues: Annotated[
        tuple[str, ...],
        Option(
            "A TOML file that says what the columns of a CSV, JSON-lines or Parquet file mean.",
            flags=("--catalogue",),
            kind="written",
        ),
    ] = ()
    redirects: Annotated[
        tuple[str, ...],
        Option(
            "MediaWiki's redirect.sql and page.sql (both): names that lead to pages of KILT's source.",
            kind="written",
        ),
    ] = ()
    languages: Annotated[
        tuple[str, ...],
        Option(
            "Language of names and pages (en, or what a dump says of itself). Given several times: names of all, pages of the first.",
            flags=("--language",),
        ),
    ] = ()
    wiki: Annotated[str | None, Option("Wiki whose pages items must have, if not that of the language.")] = (
        None
    )
    properties: Annotated[
        str,
        Option(
            "Which facts: all, a file with one property id a line, or a collection (amber, amber-human, amber-nonhuman, entityquestions, popqa).",
            metavar="all|FILE|NAME",
        ),
    ] = "all"
    without_page: Annotated[bool, Option("Also the facts of items without a page.")] = False
    superclasses: Annotated[
        bool, Option("Give items also the classes above their types (P279), behind those they have.")
    ] = False
    views_rules: Annotated[
        Literal["summed", "published"],
        Option("Titles cleaned and views added up, or as AmbER's released program reads them."),
    ] = "summed"


class IngestOptions(Struct, frozen=True, kw_only=True):
    """How to work; none of it changes the tables. Without a number of workers there is one."""

    workers: Annotated[
        int | None, Option("Processes. [default: all cores]", envvar="WHICHONE_WORKERS"), Meta(ge=1)
    ] = None
    engine: Annotated[
        Literal["duckdb", "spark"],
        Option("Read on this machine, or on a Spark cluster that sees the same files."),
    ] = "duckdb"
    master: Annotated[str, Option("Spark's master, such as spark://host:7077.", envvar="WHICHONE_MASTER")] = (
        "local[*]"
    )
    memory: Annotated[
        str,
        Option(
            "Bound on the memory of sorting and joining; beyond it they go to disk.",
            kind="size",
            envvar="WHICHONE_MEMORY",
        ),
    ] = "4GB"
    on_error: OnError = "fail"
    bad_share: Annotated[
        float,
        Option("With --on-error skip: the share of bad records above which it fails all the same."),
        Meta(ge=0, le=1),
    ] = 0.001
    repack: Annotated[Literal["zst"] | None, Option("Also write the dumps as .zst beside the originals.")] = (
        None
    )
    restart: Annotated[bool, Option("Drop unfinished work instead of going on with it.")] = False
    licence: Annotated[
        str, Option("Licence and authors of these files, for the cards and exports of what is made of them.")
    ] = ""
