"""`whichone import questions`: your own questions over your own corpus."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import gold_outside_option, json_option, on_error_option
from whichone.errors import UsageError


@click.command()
@makes("benchmark")
@click.argument("questions", type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option(
    "--passages",
    default=None,
    type=click.Path(exists=True),
    help="The passages: .jsonl, .json, .tsv, .csv, a BEIR folder, or a folder of documents; its own corpus.",
)
@click.option(
    "--corpus",
    default=None,
    type=click.Path(),
    help="Instead of --passages: a corpus (`whichone corpus`) that the benchmark names.",
)
@click.option(
    "--question", default="question", show_default=True, help="Field of the question's text."
)
@click.option("--id", "id_field", default=None, help="Field of the question's id.")
@click.option("--answers", default=None, help="Field of the answers.")
@click.option(
    "--gold", default=None, help="Field of the gold pages: titles, page ids or passage ids."
)
@click.option(
    "--gold-rule",
    type=click.Choice(["any", "all"]),
    default=None,
    help="Several gold pages are alternatives, or are all needed; else all for qrels, any for other files.",
)
@click.option(
    "--qrels",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    help="TREC judgements (query 0 document relevance); only judged questions are taken.",
)
@click.option(
    "--split",
    default=None,
    help="Of a BEIR or Hugging Face folder, or all; else test, dev or train, whichever is there first.",
)
@click.option("--name", "name_field", default=None, help="Field of the name the question is about.")
@click.option("--relation", default=None, help="Field of the relation.")
@click.option("--entity", default=None, help="Field of the entity that the question is about.")
@click.option(
    "--passage-entity",
    default=None,
    help="Field of the entity that a passage is about, if any; of documents also: path.",
)
@click.option("--passage-id", default="id", show_default=True, help="Field of a passage's id.")
@click.option("--title", default="title", show_default=True, help="Field of a passage's title.")
@click.option("--text", default="text", show_default=True, help="Field of a passage's text.")
@click.option(
    "--page", default=None, help="Field that groups passages into pages; the title when not given."
)
@click.option("--language", help="Of the questions; that of the corpus, or en, when not given.")
@click.option("--called", default=None, help="The benchmark's name; the file's when not given.")
@on_error_option
@gold_outside_option
@json_option
def command(
    questions: str,
    benchmark: str,
    passages: str | None,
    corpus: str | None,
    question: str,
    id_field: str | None,
    answers: str | None,
    gold: str | None,
    gold_rule: str | None,
    qrels: str | None,
    split: str | None,
    name_field: str | None,
    relation: str | None,
    entity: str | None,
    passage_entity: str | None,
    passage_id: str,
    title: str,
    text: str,
    page: str | None,
    language: str | None,
    called: str | None,
    on_error: str,
    as_json: bool,
) -> None:
    """Make a benchmark of QUESTIONS over your own passages.

    \b
    whichone import questions questions.jsonl BENCH --passages passages.jsonl \\
        --gold gold_titles --answers answers --name name
    whichone import questions log.jsonl BENCH --passages docs.jsonl --entity customer --name name \\
        --passage-entity customer
    whichone import questions hotpot.jsonl BENCH --passages passages.jsonl --gold titles --gold-rule all
    whichone import questions scifact BENCH --passages scifact          # a BEIR folder
    whichone import questions topics.tsv BENCH --passages corpus.jsonl --qrels qrels.txt
    """
    from whichone.benchmarks.questions import QuestionFields, import_questions
    from whichone.cli.output import emit_benchmark
    from whichone.corpus.passage_files import PassageFields
    from whichone.runs.run import open_corpus

    if (passages is None) == (corpus is None):
        raise UsageError("give --passages or --corpus, one of the two")
    created = import_questions(
        questions,
        open_corpus(corpus) if corpus is not None else str(passages),
        benchmark,
        fields=QuestionFields(question, id_field, answers, gold, name_field, relation, entity),
        passage_fields=PassageFields(passage_id, title, text, page, passage_entity),
        name=called,
        language=language,
        on_error=on_error,
        gold_rule=gold_rule,
        qrels=qrels,
        split=split,
    )
    emit_benchmark(created, as_json)
