"""The commands of EntityQuestions."""

from typing import Annotated, Literal

import click
from msgspec import to_builtins
from msgspec.structs import replace

from whichone.benchmarks.question_files import import_published
from whichone.cli.click_options import command, corpus_option, gold_outside_option
from whichone.cli.printing import emit, emit_benchmark, emit_table
from whichone.files.lines import write_rows
from whichone.options import Argument, EngineOptions, Json, Option, OwnPassages, PerQuery, Place, Places
from whichone.papers.entityquestions.build_entityquestions import (
    EntityQuestionsOptions,
    build_entityquestions,
)
from whichone.papers.entityquestions.draw import PUBLISHED_SIZES
from whichone.papers.entityquestions.entityquestions_files import read_questions
from whichone.papers.entityquestions.top_k import (
    TopKOptions,
    by_relation,
    label_files,
    per_query_rows,
    relation_names,
    result_files,
    top_k,
)


@command(makes="benchmark")
@corpus_option
def build_entityquestions_command(
    kb: Place,
    benchmark: Place,
    *,
    options: EntityQuestionsOptions,
    rules: Annotated[
        Literal["clean", "published"],
        Option("published: --resolvable all --wording published --test 1000 --dev 1000."),
    ] = "clean",
    engine: EngineOptions,
    as_json: Json = False,
) -> None:
    """Make EntityQuestions from a knowledge base KB; the criteria's numbers are printed.

    \b
    whichone build entityquestions KB BENCH
    whichone build entityquestions KB BENCH --only P19,P106 --buckets P19 --seed 1
    whichone build entityquestions KB BENCH --rules published
    whichone build entityquestions KB BENCH --engine spark --master spark://host:7077
    """
    if rules == "published":
        test, dev = options.sizes.test or PUBLISHED_SIZES.test, options.sizes.dev or PUBLISHED_SIZES.dev
        sizes = replace(options.sizes, test=test, dev=dev)
        options = replace(options, resolvable="all", wording="published", sizes=sizes)
    built = build_entityquestions(kb, benchmark, options, engine)
    relations = [to_builtins(count) for count in built.relations]
    made = {"id": built.benchmark.id, "path": benchmark}
    document = {**made, "relations": relations, "steps": built.steps, "train": built.train}
    emit(document, as_json, relations, title=f"{benchmark}: {built.benchmark.id}")
    if not as_json:
        emit_table(built.steps)


@command(makes="benchmark")
@gold_outside_option
@corpus_option
def import_entityquestions_command(
    files: Annotated[tuple[str, ...], Argument("exists")],
    benchmark: Place,
    *,
    passages: OwnPassages = None,
    called: Annotated[str, Option("The benchmark's name.")] = "entityquestions",
    as_json: Json = False,
) -> None:
    """Make a benchmark of EntityQuestions FILES (or folders of them).

    The release names no pages: gold are the pages of the subject's name that contain an answer.

    \b
    whichone import entityquestions dev/P19.dev.json BENCH --passages passages.jsonl
    whichone import entityquestions dev BENCH --corpus CORPUS
    """
    queries = (query for file in files for query in read_questions(file))
    about = "EntityQuestions as released: simple questions about one fact."
    created = import_published(queries, passages, benchmark, name=called, files=files, about=about)
    emit_benchmark(created, as_json)


@command()
def score_entityquestions_command(
    results: Places, *, plan: TopKOptions, per_query: PerQuery = None, as_json: Json = False
) -> None:
    """Score retrieval RESULTS in DPR's format, one file (or a folder of files) a relation.

    A file is a JSON list (or JSON lines) of question, answers and ctxs, best first; .gz, .bz2 and
    .zst are read too. A file that names each question's relation, as `export RUN --format dpr` writes it,
    is taken apart by it. Macro, which the paper's Table 1 reports, is the mean over relations, micro the
    mean over questions.

    \b
    whichone score entityquestions P19.test.json P26.test.json -k 1,5,20,100 --json
    """
    paths = result_files(results)
    names = relation_names(paths)
    labelled = label_files(paths, plan)
    files = by_relation({name: labels for name, (_, labels) in zip(names, labelled, strict=True)})
    scores = top_k(files, plan.depths)
    if per_query:
        write_rows(per_query, per_query_rows(files))
    questions = [question for labels in files.values() for question in labels]
    click.echo(
        f"{len(questions)} questions, {sum(q.passages for q in questions)} passages, "
        f"{sum(len(q.hits) for q in questions)} of them with an answer (matcher {plan.matcher})",
        err=True,
    )
    rows = {**scores.relations, "macro": scores.macro, "micro": scores.micro}
    emit(scores, as_json, [{"relation": name, **by_k} for name, by_k in rows.items()])
