"""`whichone score ambigdocs`: what a model said about several bearers of one name."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import json_option, per_query_option, seed_option


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
def command(
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
    from whichone.papers.ambigdocs.scores.file_scorer import choose_rules, score_file

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
        from whichone.cli.output import write_rows

        write_rows(per_query, lines)
    if report is not None:
        from whichone.papers.ambigdocs.report.page import report_files

        report_files(predictions, report, choose_rules(rules == "published", documents), benchmark)
    _print(results, as_json)


def _print(results: dict[str, dict[str, Any]], as_json: bool) -> None:
    from whichone.cli.output import emit_json

    if as_json:
        (first, *others) = results.values()
        emit_json(results if others else first)
        return
    for place, result in results.items():
        _tables(place, result)


def _tables(place: str, result: dict[str, Any]) -> None:
    from whichone.cli.output import emit_table

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
