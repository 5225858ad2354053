"""`whichone audit`: which names of a corpus are shared, before any benchmark."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option


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
def command(
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

    from whichone.cli.output import emit_json
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
