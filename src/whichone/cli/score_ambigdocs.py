"""`whichone score ambigdocs`: what a model said about several bearers of one name."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import json_option, per_query_option, seed_option


@click.command("ambigdocs")
@click.argument("predictions", type=click.Path())
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
@click.option("--reader", default=None, help="A reader that finds the spans for Disambig-F1.")
@click.option("--validity", is_flag=True, help="Also means within categories, other thresholds.")
@click.option(
    "--semantic",
    metavar="ENCODER",
    default=None,
    help="Count paraphrases that tokens miss: trigrams, or a sentence-transformers model.",
)
@per_query_option
@seed_option
@json_option
def command(
    predictions: str,
    rules: str,
    documents: str | None,
    reader: str | None,
    validity: bool,
    semantic: str | None,
    per_query: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Score an AmbigDocs predictions file: five categories, recalls, knowledge precision.

    A predictions file holds the questions of AmbigDocs with `gen_answer` and `docs`, the passages
    that were shown; `span_predictions` (a reader's spans) and `wrong_answers` (RAMDocs) are used
    where they are there.

    \b
    whichone score ambigdocs predictions.json --json --per-query lines.jsonl
    whichone score ambigdocs predictions.json --rules published
    """
    from whichone.measures.ambigdocs.file_scorer import score_file

    result, lines = score_file(
        predictions,
        published=rules == "published",
        documents=documents,
        reader=reader,
        validity=validity,
        semantic=semantic,
        seed=seed,
    )
    if per_query is not None:
        from whichone.cli.output import write_rows

        write_rows(per_query, lines)
    _print(result, as_json)


def _print(result: dict[str, Any], as_json: bool) -> None:
    from whichone.cli.output import emit_json, emit_table

    if as_json:
        emit_json(result)
        return
    rows = [{"measure": name, **value} for name, value in result["measures"].items()]
    emit_table(rows, title=f"{result['scored']} questions, {result['documents']} documents")
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
    if "semantic" in result:
        emit_table([{k: v for k, v in result["semantic"].items() if k != "examples"}])
