"""The commands of EntityQuestions."""

from __future__ import annotations

import click

from whichone.cli.options import (
    Words,
    corpus_option,
    engine_options,
    gold_outside_option,
    json_option,
    k_option,
    memory_option,
    per_query_option,
    seed_option,
)
from whichone.cli.printing import makes

# `whichone build entityquestions`: simple questions about the facts of a knowledge base.


@click.command()
@makes("benchmark")
@click.argument("kb", type=click.Path())
@click.argument("benchmark", type=click.Path())
@click.option(
    "--relations",
    type=click.Path(exists=True),
    default=None,
    help="A TOML file of relations and questions instead of the published 24.",
)
@click.option("--only", type=Words(), default="", help="Only these relations: P19,P26.")
@click.option("--language", default="en", show_default=True, help="Language of names and answers.")
@click.option(
    "--frequency",
    type=click.Choice(["links", "views", "sitelinks"]),
    default="links",
    show_default=True,
    help="How often a subject is met: links to its page, page views, or sitelinks.",
)
@click.option(
    "--least-facts",
    type=float,
    default=None,
    help="A relation needs more facts than this; below 1 a share of all. Default: 2000, in a small "
    "knowledge base one in a thousand of its pages.",
)
@click.option("--least-answers", default=10, show_default=True, help="Different answers at least.")
@click.option("--test", default=1000, show_default=True, help="Test facts a relation at most.")
@click.option("--dev", default=1000, show_default=True, help="Dev facts a relation at most.")
@click.option("--train", default=8000, show_default=True, help="Training facts at most.")
@click.option(
    "--train-scope",
    type=click.Choice(["triples", "subjects"]),
    default="triples",
    show_default=True,
    help="Whose tokens training facts must not share with the test set.",
)
@click.option(
    "--tokeniser",
    type=click.Choice(["drqa", "blanks"]),
    default="drqa",
    show_default=True,
    help="What a token is.",
)
@click.option("--stop-words", type=click.Path(exists=True), default=None, help="One a line.")
@click.option("--trex", type=click.Path(exists=True), multiple=True, help="Evidence from T-REx.")
@click.option("--buckets", type=Words(), default="", help="Draw bucket sets of these: P19,P170.")
@click.option(
    "--train-entities",
    type=click.Path(exists=True),
    default=None,
    help='Ids or names, one a line: the entities of "train ent".',
)
@click.option(
    "--train-questions",
    type=click.Path(exists=True),
    default=None,
    help='Questions in which the entities of "train ent" are looked for by name.',
)
@click.option("--reworded", is_flag=True, help="Ask in other words where the relation has some.")
@click.option(
    "--wording",
    type=click.Choice(["clean", "published"]),
    default="clean",
    show_default=True,
    help="Ask only of types that the question fits, or of all that have the relation, as in the release.",
)
@click.option("--words", default=100, show_default=True, help="Words a passage.")
@engine_options
@memory_option
@seed_option
@json_option
@corpus_option
def build_entityquestions_command(
    kb: str,
    benchmark: str,
    test: int,
    dev: int,
    train: int,
    engine: str,
    master: str | None,
    memory: str,
    as_json: bool,
    **values: object,
) -> None:
    """Make EntityQuestions from a knowledge base KB; the criteria's numbers are printed.

    \b
    whichone build entityquestions KB BENCH
    whichone build entityquestions KB BENCH --only P19,P106 --buckets P19 --seed 1
    whichone build entityquestions KB BENCH --wording published
    whichone build entityquestions KB BENCH --engine spark --master spark://host:7077
    """
    import msgspec

    from whichone.cli.printing import emit_json, emit_table
    from whichone.papers.entityquestions.build_entityquestions import (
        BuildOptions,
        build_entityquestions,
    )

    sizes = {"test": test, "dev": dev, "train": train}
    options = msgspec.convert({**values, "sizes": sizes}, BuildOptions)
    built = build_entityquestions(
        kb, benchmark, options, memory=memory, engine=engine, master=master
    )
    relations = [msgspec.to_builtins(count) for count in built.relations]
    if as_json:
        emit_json(
            {
                "id": built.benchmark.id,
                "path": benchmark,
                "relations": relations,
                "steps": built.steps,
                "train": built.train,
            }
        )
        return
    emit_table(relations, title=f"{benchmark}: {built.benchmark.id}")
    emit_table(built.steps)


# `whichone import entityquestions`: the published question files over your own passages.


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
def import_entityquestions_command(
    files: tuple[str, ...], benchmark: str, passages: str | None, called: str, as_json: bool
) -> None:
    """Make a benchmark of EntityQuestions FILES (or folders of them).

    The release names no pages: gold are the pages of the subject's name that contain an answer.

    \b
    whichone import entityquestions dev/P19.dev.json BENCH --passages passages.jsonl
    whichone import entityquestions dev BENCH --corpus CORPUS
    """
    from whichone.benchmarks.question_files import import_published
    from whichone.cli.printing import emit_benchmark
    from whichone.papers.entityquestions.entityquestions_files import read_questions

    queries = (query for file in files for query in read_questions(file))
    about = "EntityQuestions as released: simple questions about one fact."
    created = import_published(queries, passages, benchmark, name=called, files=files, about=about)
    emit_benchmark(created, as_json)


# `whichone score entityquestions`: top-k accuracy of DPR results files.


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path())
@k_option("1,5,20,100")
@click.option(
    "--match",
    "matcher",
    default="dpr",
    show_default=True,
    metavar="NAME",
    help="How an answer is looked for: dpr, dpr-title, dpr-regex, dpr-kilt, entityquestions, "
    "string-title, title, substring or has-answer.",
)
@click.option(
    "--empty-answers",
    type=click.Choice(["error", "match"]),
    default="error",
    show_default=True,
    help="An answer without tokens: refuse it, or count every passage a hit as published.",
)
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Default: every core.")
@per_query_option
@json_option
def score_entityquestions_command(
    results: tuple[str, ...],
    depths: tuple[int, ...],
    matcher: str,
    empty_answers: str,
    workers: int | None,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score retrieval RESULTS in DPR's format, one file (or a folder of files) a relation.

    A file is a JSON list (or JSON lines) of question, answers and ctxs, best first; .gz, .bz2 and
    .zst are read too. A file that names each question's relation, as `export RUN --format dpr` writes it,
    is taken apart by it. Macro, which the paper's Table 1 reports, is the mean over relations, micro the
    mean over questions.

    \b
    whichone score entityquestions P19.test.json P26.test.json -k 1,5,20,100 --json
    """
    from whichone.cli.printing import emit_json, emit_table, write_rows
    from whichone.papers.entityquestions.top_k import (
        by_relation,
        label_files,
        per_query_rows,
        relation_names,
        result_files,
        top_k,
    )

    paths = result_files(results)
    names = relation_names(paths)
    labelled = label_files(paths, matcher, empty_answers=empty_answers == "match", workers=workers)
    files = by_relation({name: labels for name, (_, labels) in zip(names, labelled, strict=True)})
    scores = top_k(files, depths)
    if per_query:
        write_rows(per_query, per_query_rows(files))
    questions = [question for labels in files.values() for question in labels]
    click.echo(
        f"{len(questions)} questions, {sum(q.passages for q in questions)} passages, "
        f"{sum(len(q.hits) for q in questions)} of them with an answer (matcher {matcher})",
        err=True,
    )
    if as_json:
        emit_json(scores)
        return
    rows = {**scores.relations, "macro": scores.macro, "micro": scores.micro}
    emit_table([{"relation": name, **by_k} for name, by_k in rows.items()])
