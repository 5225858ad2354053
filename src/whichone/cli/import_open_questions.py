"""`whichone import open-questions`: NQ-open, WebQuestions, CuratedTREC and DPR's CSV files."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, json_option


@click.command()
@makes("benchmark")
@click.argument("file", type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option(
    "--format",
    "layout",
    required=True,
    type=click.Choice(["nq-open", "webquestions", "curatedtrec", "dpr-csv"]),
    help="How the file is laid out; answers of curatedtrec are regular expressions.",
)
@click.option(
    "--passages",
    default=None,
    type=click.Path(exists=True),
    help="Passages for a corpus of its own: .jsonl, .tsv, BEIR.",
)
@click.option("--called", default=None, help="The benchmark's name; the format's when not given.")
@json_option
@corpus_option
def command(
    file: str, benchmark: str, layout: str, passages: str | None, called: str | None, as_json: bool
) -> None:
    """Make a benchmark of a published question FILE; these name no gold pages, only answers.

    \b
    whichone import open-questions NQ-open.dev.jsonl BENCH --format nq-open --passages psgs.tsv
    whichone import open-questions NQ-open.dev.jsonl BENCH --format nq-open --corpus CORPUS
    """
    from whichone.benchmarks.open_questions import read_open_questions
    from whichone.benchmarks.question_files import import_published
    from whichone.cli.output import emit_benchmark

    queries = read_open_questions(file, layout)
    about = f"Questions of a {layout} file, with answers and no gold pages."
    created = import_published(
        queries, passages, benchmark, name=called or layout, files=[file], about=about
    )
    emit_benchmark(created, as_json)
