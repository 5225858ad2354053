"""`whichone import popqa`: PopQA over your own passages."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, gold_outside_option, json_option


@click.command()
@makes("benchmark")
@click.argument("file", type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option(
    "--passages",
    default=None,
    type=click.Path(exists=True),
    help="Passages for a corpus of its own: .jsonl, .tsv, BEIR.",
)
@click.option("--called", default="popqa", show_default=True, help="The benchmark's name.")
@gold_outside_option
@json_option
@corpus_option
def command(file: str, benchmark: str, passages: str | None, called: str, as_json: bool) -> None:
    """Make a benchmark of PopQA's FILE (.tsv, .json or .jsonl); gold is the subject's page.

    \b
    whichone import popqa test.tsv BENCH --passages passages.jsonl
    whichone import popqa test.tsv BENCH --corpus CORPUS
    """
    from whichone.benchmarks.question_files import import_published
    from whichone.cli.output import emit_benchmark
    from whichone.papers.popqa.files import read_popqa

    about = "PopQA: questions about one fact, with the subject's monthly page views (`s_pop`)."
    created = import_published(
        read_popqa(file), passages, benchmark, name=called, files=[file], about=about
    )
    emit_benchmark(created, as_json)
