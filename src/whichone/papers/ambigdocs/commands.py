"""The commands of AmbigDocs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from whichone.cli.options import (
    Words,
    corpus_option,
    engine_options,
    gold_outside_option,
    json_option,
    memory_option,
    per_query_option,
    seed_option,
)
from whichone.cli.printing import makes
from whichone.errors import UsageError

# `whichone score ambigdocs`: what a model said about several bearers of one name.


@click.command("ambigdocs")
@click.argument("predictions", nargs=-1, required=True, type=click.Path())
@click.option(
    "--rules",
    type=click.Choice(["default", "published"]),
    default="default",
    show_default=True,
    help="published: exactly the released scorer, on the first five documents.",
)
@click.option(
    "--docs",
    "documents",
    type=click.Choice(["shown", "first-5", "all"]),
    default=None,
    help="The gold documents to score: those that were shown (default), the first five, or all.",
)
@click.option(
    "--benchmark", default=None, help="Where the benchmark is stored now, if it was moved."
)
@click.option(
    "--reader",
    default=None,
    help="Finds the spans for Disambig-F1: a question-answering model, or module:function.",
)
@click.option("--validity", is_flag=True, help="Also means within categories, other thresholds.")
@click.option(
    "--semantic",
    metavar="ENCODER",
    default=None,
    help="Count paraphrases that tokens miss: trigrams, or a sentence-transformers model.",
)
@click.option(
    "--people",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    help="A CSV file (qid, category) of a person's labels: agreement as Cohen's kappa.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    default=None,
    help="Also write one page about all files, named MODEL--MODE.json, to this .html.",
)
@per_query_option
@seed_option
@json_option
def score_ambigdocs_command(
    predictions: tuple[str, ...],
    rules: str,
    documents: str | None,
    benchmark: str | None,
    reader: str | None,
    validity: bool,
    semantic: str | None,
    people: str | None,
    report: str | None,
    per_query: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Score AmbigDocs predictions: five categories, recalls, knowledge precision.

    PREDICTIONS are files, or folders that `whichone read` has made. A predictions file contains the questions of AmbigDocs with `gen_answer` and `docs`, the passages
    that were shown; `span_predictions` (a reader's spans) and `wrong_answers` (RAMDocs) are used
    where they are there.

    \b
    whichone score ambigdocs predictions.json --json --per-query lines.jsonl
    whichone score ambigdocs predictions.json --rules published
    whichone score ambigdocs tiny--zero-shot.json tiny--few-shot.json --report answers.html
    """
    from whichone.errors import UsageError
    from whichone.papers.ambigdocs.score_file import choose_rules, score_file

    if per_query is not None and len(predictions) > 1:
        raise UsageError("--per-query writes the lines of one predictions file")
    results = {}
    for place in predictions:
        results[place], lines = score_file(
            place,
            published=rules == "published",
            documents=documents,
            reader=reader,
            validity=validity,
            semantic=semantic,
            people=people,
            benchmark=benchmark,
            seed=seed,
        )
    if per_query is not None:
        from whichone.cli.printing import write_rows

        write_rows(per_query, lines)
    if report is not None:
        from whichone.papers.ambigdocs.ambigdocs_report import report_files

        report_files(predictions, report, choose_rules(rules == "published", documents), benchmark)
    _print(results, as_json)


def _print(results: dict[str, dict[str, Any]], as_json: bool) -> None:
    from whichone.cli.printing import emit_json

    if as_json:
        (first, *others) = results.values()
        emit_json(results if others else first)
        return
    for place, result in results.items():
        _tables(place, result)


def _tables(place: str, result: dict[str, Any]) -> None:
    from whichone.cli.printing import emit_table

    rows = [{"measure": name, **value} for name, value in result["measures"].items()]
    emit_table(
        rows, title=f"{place}: {result['scored']} questions, documents: {result['documents']}"
    )
    emit_table([{"category": name, **value} for name, value in result["categories"].items()])
    noted = [
        {"note": k, "count": len(v) if isinstance(v, list) else v}
        for k, v in result["notes"].items()
    ]
    emit_table([row for row in noted if row["count"]], columns=["note", "count"])
    for name, means in result.get("means_within_categories", {}).items():
        emit_table(
            [{"measure": k, **v} for k, v in means.items() if k != "n"],
            title=f"{name}: {means['n']} questions",
        )
    if "threshold_sensitivity" in result:
        emit_table(
            [
                {"threshold": name, "changed": row["changed"], **row["categories"]}
                for name, row in result["threshold_sensitivity"].items()
            ]
        )
    if "agreement" in result:
        agreement = {k: result["agreement"][k] for k in ("questions", "agree")}
        emit_table(
            [{**agreement, **{f"kappa {k}": v for k, v in result["agreement"]["kappa"].items()}}]
        )
        confusion = result["agreement"]["confusion"]
        emit_table([{"people": name, **row} for name, row in confusion.items()])
    if "semantic" in result:
        emit_table([{k: v for k, v in result["semantic"].items() if k != "examples"}])


# `whichone build ambigdocs`: questions about several bearers of one name, with a model or without.


@click.command()
@makes("benchmark")
@click.argument("kb", type=click.Path())
@click.argument("benchmark", type=click.Path())
@click.option(
    "--names",
    type=click.Choice(["auto", "disambiguation", "shared"]),
    default="auto",
    show_default=True,
    help="Names from disambiguation pages, or those that entities share; auto: the first there are.",
)
@click.option("--properties", type=Words(), default="", help="Ask only for these: P106,P19.")
@click.option("--language", default="en", show_default=True, help="Language of names and answers.")
@click.option("--words", default=100, show_default=True, help="Words a passage.")
@click.option(
    "--pages",
    "corpus_pages",
    type=click.Choice(["all", "bearers"]),
    default="all",
    show_default=True,
    help="Passages of all articles, or only of the bearers' pages.",
)
@click.option(
    "--templates",
    type=click.Path(exists=True),
    default=None,
    help="A TOML file of questions by property, beside those of EntityQuestions.",
)
@click.option(
    "--entailment",
    default="rule",
    show_default=True,
    metavar="rule|none|MODEL",
    help="Does a passage state the fact? By rule (English), by an NLI model's folder or name, or not asked.",
)
@click.option("--endpoint", default=None, help="Build as the paper does, with a model at this URL.")
@click.option(
    "--model", default=None, help="Its name: writes, answers, and judges if no other does."
)
@click.option("--judge-model", default=None, help="Another model at the endpoint, to judge.")
@click.option("--concurrency", default=4, show_default=True, help="Names worked on at a time.")
@click.option("--cache", default=None, help="File of calls already made, or none; default: yours.")
@engine_options
@memory_option
@seed_option
@json_option
@corpus_option
def build_ambigdocs_command(
    kb: str,
    benchmark: str,
    endpoint: str | None,
    model: str | None,
    judge_model: str | None,
    concurrency: int,
    cache: str | None,
    engine: str,
    master: str | None,
    memory: str,
    as_json: bool,
    corpus_pages: str,
    **values: Any,
) -> None:
    """Make AmbigDocs questions from a knowledge base KB.

    Without an endpoint no model is asked: a property that at least two bearers of a name have is
    asked for under that name by a template; each bearer's own value is its answer, if a passage of
    its page states it (--entailment). With an endpoint questions are written, answered and judged by a model, as
    in the paper. The funnel is printed.

    \b
    whichone build ambigdocs KB BENCH
    whichone build ambigdocs KB BENCH --properties P19,P106 --seed 1
    whichone build ambigdocs KB BENCH --entailment NLI_MODEL
    whichone build ambigdocs KB BENCH --engine spark --master spark://host:7077
    whichone build ambigdocs KB BENCH --endpoint http://127.0.0.1:8000/v1 --model NAME
    """
    from whichone.cli.printing import emit_json, emit_table
    from whichone.papers.ambigdocs.build_ambigdocs import build_ambigdocs, build_options, rows

    options = build_options(corpus=corpus_pages, **values)
    if (endpoint is None) != (model is None):
        raise UsageError("--endpoint and --model belong together")
    if endpoint is None or model is None:
        created, funnel = build_ambigdocs(
            kb, benchmark, options, memory=memory, engine=engine, master=master
        )
    else:
        from whichone.papers.ambigdocs.model_builder import build_with_models, roles_of
        from whichone.progress import talk

        with ExitStack() as stack:
            writer = _open(stack, endpoint, model, concurrency, cache)
            judge = (
                _open(stack, endpoint, judge_model, concurrency, cache) if judge_model else writer
            )
            talk(f"passages of the bearers go to {endpoint}")
            created, funnel = build_with_models(
                kb,
                benchmark,
                roles_of(writer, judge=judge),
                options,
                concurrency=concurrency,
                description={"writer": writer.describe(), "judge": judge.describe()},
                memory=memory,
                engine=engine,
                master=master,
            )
    if as_json:
        emit_json({"id": created.id, "path": benchmark, "funnel": funnel})
    else:
        emit_table(rows(funnel), title=f"{benchmark}: {created.id}")


def _open(stack: ExitStack, url: str, model: str, concurrency: int, cache: str | None) -> Any:
    """A model that has answered one question."""
    from whichone.chat.endpoint import EndpointOptions, open_endpoint

    options = EndpointOptions(url=url, model=model, concurrency=concurrency)
    opened = stack.enter_context(open_endpoint(options, cache))
    opened.probe()
    return opened


# `whichone import ambigdocs`: released splits to a benchmark.


@click.command()
@makes("benchmark")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option(
    "--passages",
    default=None,
    type=click.Path(exists=True),
    help="psgs_w100.tsv, to check pids against and fill missing texts from.",
)
@click.option(
    "--pages",
    "corpus_pages",
    type=click.Choice(["gold", "titles"]),
    default="gold",
    show_default=True,
    help="The gold passages, or all passages of the bearers' pages in --passages.",
)
@click.option("--dry-run", is_flag=True, help="Read and check the files, write nothing.")
@gold_outside_option
@json_option
@corpus_option
def import_ambigdocs_command(
    files: tuple[str, ...],
    benchmark: str,
    passages: str | None,
    corpus_pages: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import AmbigDocs FILES (train.json, dev.json, test.json) into BENCHMARK.

    \b
    whichone import ambigdocs train.json dev.json test.json BENCH --passages psgs_w100.tsv
    whichone import ambigdocs test.json BENCH --corpus CORPUS
    """
    from whichone.cli.printing import emit_benchmark, emit_json
    from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs
    from whichone.progress import talk

    created, counts = import_ambigdocs(
        files, None if dry_run else benchmark, passage_file=passages, corpus=corpus_pages
    )
    if created is None:
        emit_json(counts)
        return
    talk(f"{counts['documents']} documents, {counts['documents_without_answer']} without an answer")
    emit_benchmark(created, as_json)


# `whichone import ramdocs`: AmbigDocs questions among noise and misinformation.


@click.command()
@makes("benchmark")
@click.argument("file", type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Read and check the file, write nothing.")
@gold_outside_option
@json_option
@corpus_option
def import_ramdocs_command(file: str, benchmark: str, dry_run: bool, as_json: bool) -> None:
    """Import a RAMDocs FILE (JSON lines) into BENCHMARK.

    Its documents have no titles: a "correct" document belongs to the bearer whose gold answer it
    has, any other document to none.

    \b
    whichone import ramdocs RAMDocs_test.jsonl BENCH
    """
    from whichone.cli.printing import emit_benchmark, emit_json
    from whichone.papers.ambigdocs.import_ambigdocs import import_ramdocs
    from whichone.progress import talk

    created, counts = import_ramdocs(file, None if dry_run else benchmark)
    if created is None:
        emit_json(counts)
        return
    talk(f"{counts['bearers_without_document']} bearers have no document of their own")
    emit_benchmark(created, as_json)
