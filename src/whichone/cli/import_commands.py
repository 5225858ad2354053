"""`whichone import questions`: your own questions over your own corpus."""

from __future__ import annotations

import click

from whichone.cli.options import (
    BenchmarkName,
    corpus_option,
    gold_outside_option,
    json_option,
    on_error_option,
)
from whichone.cli.printing import makes
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
def import_questions_command(
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
    from whichone.cli.printing import emit_benchmark
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


# `whichone import answers`: another system's output file as a folder of answers.


@click.command()
@makes("answers")
@click.argument("benchmark", type=BenchmarkName())
@click.argument("file", type=click.Path())
@click.argument("answers", type=click.Path())
@click.option("--name", default=None, help="The system's name in tables; else the file's.")
@on_error_option
@json_option
def import_answers_command(
    benchmark: str, file: str, answers: str, name: str | None, on_error: str, as_json: bool
) -> None:
    """Take what another system said to the questions of BENCHMARK from FILE into ANSWERS.

    FILE has a line a question: KILT's predictions, FEVER's (NOT ENOUGH INFO counts as REFUTES), or
    objects with id, answer and passages. Questions it does not answer are failures.

    \b
    whichone import answers BENCH predictions.jsonl ANSWERS --name "my system"
    """
    from whichone.cli.printing import emit_json
    from whichone.runs.predictions import import_answers

    answer_run = import_answers(benchmark, file, answers, name=name, on_error=on_error)
    counts = answer_run.folder.manifest.counts
    if as_json:
        emit_json({"answers": answers, "name": answer_run.name, "counts": counts})
        return
    counts_text = ", ".join(
        f"{value:,} {key.replace('_', ' ')}" for key, value in counts.items() if value
    )
    click.echo(f"{answers}: {answer_run.name}, {counts_text}")


# `whichone import open-questions`: NQ-open, WebQuestions, CuratedTREC and DPR's CSV files.


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
def import_open_questions_command(
    file: str, benchmark: str, layout: str, passages: str | None, called: str | None, as_json: bool
) -> None:
    """Make a benchmark of a published question FILE; these name no gold pages, only answers.

    \b
    whichone import open-questions NQ-open.dev.jsonl BENCH --format nq-open --passages psgs.tsv
    whichone import open-questions NQ-open.dev.jsonl BENCH --format nq-open --corpus CORPUS
    """
    from whichone.benchmarks.open_questions import read_open_questions
    from whichone.benchmarks.question_files import import_published
    from whichone.cli.printing import emit_benchmark

    queries = read_open_questions(file, layout)
    about = f"Questions of a {layout} file, with answers and no gold pages."
    created = import_published(
        queries, passages, benchmark, name=called or layout, files=[file], about=about
    )
    emit_benchmark(created, as_json)


# `whichone import run`: anybody's rankings as a run.


@click.command()
@makes("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("run", type=click.Path())
@click.option("--benchmark", required=True, help="What was asked: a folder or builtin/NAME.")
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice(
        [
            "trec",
            "msmarco",
            "kilt",
            "dpr",
            "amber",
            "bootleg",
            "blink",
            "elq",
            "genre",
            "realm",
            "rag",
        ]
    ),
    help="A TREC run, Pyserini's MS MARCO layout, KILT or AmbER predictions, DPR results, or what"
    " a linker or RAG wrote.",
)
@click.option(
    "--knowledge",
    type=click.Path(exists=True, file_okay=False),
    default=None,
    help="A knowledge base for titles and Wikidata ids that the benchmark does not know.",
)
@click.option("--name", default=None, help="What to call the system.")
@on_error_option
@json_option
def import_run_command(
    file: str,
    run: str,
    benchmark: str,
    form: str,
    knowledge: str | None,
    name: str | None,
    on_error: str,
    as_json: bool,
) -> None:
    """Bring the rankings of FILE in as RUN, checked against its benchmark.

    \b
    whichone import run run.txt RUN --benchmark BENCH --format trec
    whichone import run bootleg_labels.jsonl RUN --benchmark BENCH --format bootleg
    """
    from pathlib import Path

    from whichone.benchmarks.benchmark import Benchmark
    from whichone.cli.printing import emit_json, emit_table
    from whichone.runs.run_files import import_run

    opened = Benchmark.open(benchmark)
    place = benchmark if benchmark.startswith("builtin/") else str(Path(benchmark).resolve())
    runs = import_run(
        file,
        run,
        opened,
        place=place,
        format=form,
        name=name,
        on_error=on_error,
        knowledge=knowledge,
    )
    counts = {"run": runs.name, **runs.folder.manifest.counts}
    if as_json:
        emit_json(counts)
    else:
        emit_table([{"what": key.replace("_", " "), "": value} for key, value in counts.items()])
