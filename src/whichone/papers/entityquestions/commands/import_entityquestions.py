"""`whichone import entityquestions`: the published question files over your own passages."""

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
    help="Passages for a corpus of its own: .jsonl, .tsv, BEIR.",
)
@click.option(
    "--called", default="entityquestions", show_default=True, help="The benchmark's name."
)
@gold_outside_option
@json_option
@corpus_option
def command(
    files: tuple[str, ...], benchmark: str, passages: str | None, called: str, as_json: bool
) -> None:
    """Make a benchmark of EntityQuestions FILES (or folders of them).

    The release names no pages: gold are the pages of the subject's name that contain an answer.

    \b
    whichone import entityquestions dev/P19.dev.json BENCH --passages passages.jsonl
    whichone import entityquestions dev BENCH --corpus CORPUS
    """
    from whichone.benchmarks.question_files import import_published
    from whichone.cli.output import emit_benchmark
    from whichone.papers.entityquestions.files import read_questions

    queries = (query for file in files for query in read_questions(file))
    about = "EntityQuestions as released: simple questions about one fact."
    created = import_published(queries, passages, benchmark, name=called, files=files, about=about)
    emit_benchmark(created, as_json)
