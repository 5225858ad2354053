"""`whichone import`: your own questions, published question files, other systems' answers and rankings."""

from pathlib import Path
from typing import Annotated, Literal

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.open_questions import read_open_questions
from whichone.benchmarks.question_files import import_published
from whichone.benchmarks.questions import QuestionImport, import_questions
from whichone.cli.click_options import command, corpus_option, gold_outside_option
from whichone.cli.printing import emit, emit_benchmark, in_words
from whichone.errors import UsageError
from whichone.options import Asked, Existing, Json, OnError, Option, OwnPassages, Place
from whichone.runs.run import open_corpus
from whichone.runs.run_files import RunImport, import_answers, import_run


@command(makes="benchmark")
@gold_outside_option
def import_questions_command(
    questions: Existing,
    benchmark: Place,
    *,
    passages: Annotated[
        str | None,
        Option(
            "The passages: .jsonl, .json, .tsv, .csv, a BEIR folder, or a folder of documents; its own corpus.",
            kind="exists",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        Option("Instead of --passages: a corpus (`whichone corpus`) that the benchmark names.", kind="path"),
    ] = None,
    plan: QuestionImport,
    as_json: Json = False,
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
    if (passages is None) == (corpus is None):
        raise UsageError("give --passages or --corpus, one of the two")
    held = open_corpus(corpus) if corpus is not None else str(passages)
    emit_benchmark(import_questions(questions, held, benchmark, plan), as_json)


# `whichone import answers`: another system's output file as a folder of answers.


@command(makes="answers")
def import_answers_command(
    benchmark: Asked,
    file: Place,
    answers: Place,
    *,
    name: Annotated[str | None, Option("The system's name in tables; else the file's.")] = None,
    on_error: OnError = "fail",
    as_json: Json = False,
) -> None:
    """Take what another system said to the questions of BENCHMARK from FILE into ANSWERS.

    FILE has a line a question: KILT's predictions, FEVER's (NOT ENOUGH INFO counts as REFUTES), or
    objects with id, answer and passages. Questions it does not answer are failures.

    \b
    whichone import answers BENCH predictions.jsonl ANSWERS --name "my system"
    """
    answer_run = import_answers(benchmark, file, answers, name=name, on_error=on_error)
    counts = answer_run.folder.manifest.counts
    document = {"answers": answers, "name": answer_run.name, "counts": counts}
    emit(document, as_json, f"{answers}: {answer_run.name}, {in_words(counts)}")


# `whichone import open-questions`: NQ-open, WebQuestions, CuratedTREC and DPR's CSV files.


@command(makes="benchmark")
@corpus_option
def import_open_questions_command(
    file: Existing,
    benchmark: Place,
    *,
    layout: Annotated[
        Literal["nq-open", "webquestions", "curatedtrec", "dpr-csv"],
        Option(
            "How the file is laid out; answers of curatedtrec are regular expressions.", flags=("--format",)
        ),
    ],
    passages: OwnPassages = None,
    called: Annotated[str | None, Option("The benchmark's name; the format's when not given.")] = None,
    as_json: Json = False,
) -> None:
    """Make a benchmark of a published question FILE; these name no gold pages, only answers.

    \b
    whichone import open-questions NQ-open.dev.jsonl BENCH --format nq-open --passages psgs.tsv
    whichone import open-questions NQ-open.dev.jsonl BENCH --format nq-open --corpus CORPUS
    """
    queries = read_open_questions(file, layout)
    about = f"Questions of a {layout} file, with answers and no gold pages."
    created = import_published(queries, passages, benchmark, name=called or layout, files=[file], about=about)
    emit_benchmark(created, as_json)


# `whichone import run`: anybody's rankings as a run.


@command(makes="run")
def import_run_command(
    file: Existing,
    run: Place,
    *,
    benchmark: Annotated[str, Option("What was asked: a folder or builtin/NAME.")],
    plan: RunImport,
    as_json: Json = False,
) -> None:
    """Bring the rankings of FILE in as RUN, checked against its benchmark.

    DPR's results may be a folder of one file a relation; questions of other relations are left out.

    \b
    whichone import run run.txt RUN --benchmark BENCH --format trec
    whichone import run bootleg_labels.jsonl RUN --benchmark BENCH --format bootleg
    """
    opened = Benchmark.open(benchmark)
    place = benchmark if benchmark.startswith("builtin/") else str(Path(benchmark).resolve())
    runs = import_run(file, run, opened, plan, place=place)
    emit({"run": runs.name, **runs.folder.manifest.counts}, as_json)
