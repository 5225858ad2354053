"""`whichone corpus`: passages, pages and names in a folder of their own."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, memory_option

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
def command(
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
    from whichone.cli.output import emit_json
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
