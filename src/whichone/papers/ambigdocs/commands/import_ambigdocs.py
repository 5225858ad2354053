"""`whichone import ambigdocs`: released splits to a benchmark."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, gold_outside_option, json_option


@click.command()
@makes("benchmark")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option(
    "--passages",
    default=None,
    type=click.Path(exists=True),
    help="psgs_w100.tsv, to check pids against and fill missing texts from.",
)
@click.option(
    "--pages",
    "corpus_pages",
    type=click.Choice(["gold", "titles"]),
    default="gold",
    show_default=True,
    help="The gold passages, or all passages of the bearers' pages in --passages.",
)
@click.option("--dry-run", is_flag=True, help="Read and check the files, write nothing.")
@gold_outside_option
@json_option
@corpus_option
def command(
    files: tuple[str, ...],
    benchmark: str,
    passages: str | None,
    corpus_pages: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import AmbigDocs FILES (train.json, dev.json, test.json) into BENCHMARK.

    \b
    whichone import ambigdocs train.json dev.json test.json BENCH --passages psgs_w100.tsv
    whichone import ambigdocs test.json BENCH --corpus CORPUS
    """
    from whichone.cli.output import emit_benchmark, emit_json
    from whichone.papers.ambigdocs.import_files import import_ambigdocs
    from whichone.progress import talk

    created, counts = import_ambigdocs(
        files, None if dry_run else benchmark, passage_file=passages, corpus=corpus_pages
    )
    if created is None:
        emit_json(counts)
        return
    talk(f"{counts['documents']} documents, {counts['documents_without_answer']} without an answer")
    emit_benchmark(created, as_json)
