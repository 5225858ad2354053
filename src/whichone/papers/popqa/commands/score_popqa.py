"""`whichone score popqa`: PopQA's accuracy of outputs, by relation and popularity."""

from __future__ import annotations

import click

from whichone.cli.options import json_option, per_query_option, seed_option


@click.command()
@click.argument("predictions", type=click.Path(exists=True))
@click.option(
    "--gold", required=True, type=click.Path(exists=True), help="PopQA: .tsv, .json or .jsonl."
)
@click.option("--prediction", "field", default=None, help="Field that contains the prediction.")
@click.option(
    "--parametric",
    type=click.Path(exists=True),
    default=None,
    help="Predictions without retrieval: gives the popularity below which retrieval helps.",
)
@click.option("--splits", default=100, show_default=True, help="Random splits for the threshold.")
@seed_option
@per_query_option
@json_option
def command(
    predictions: str,
    gold: str,
    field: str | None,
    parametric: str | None,
    splits: int,
    seed: int,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score PREDICTIONS for PopQA: an answer in the first line, and anywhere in the output.

    Predictions are records with an id (or the question) and a text, or a list in the gold's order.

    \b
    whichone score popqa predictions.jsonl --gold test.tsv --parametric closed-book.jsonl --json
    """
    from whichone.cli.output import emit_json, emit_table, write_rows
    from whichone.papers.popqa.files import read_popqa
    from whichone.papers.popqa.scores.predictions import read_predictions
    from whichone.papers.popqa.scores.score import compare_with_parametric, judge, rows, summary

    queries = list(read_popqa(gold))
    judged = judge(queries, read_predictions(predictions, queries, field))
    scores = summary(judged)
    if parametric:
        without = judge(queries, read_predictions(parametric, queries, field))
        scores["adaptive_retrieval"] = compare_with_parametric(
            judged, without, splits=splits, seed=seed
        )
    if per_query:
        write_rows(per_query, rows(judged))
    if as_json:
        emit_json(scores)
        return
    table = [{"slice": "all", **_values(scores)}]
    for kind in ("relations", "popularity_bins"):
        table += [{"slice": f"{kind}: {k}", **_values(v)} for k, v in scores[kind].items()]
    emit_table(table)
    if parametric:
        adaptive = scores["adaptive_retrieval"]
        emit_table(
            [
                {"relation": relation, "retrieve below a popularity of": threshold}
                for relation, threshold in adaptive.thresholds.items()
            ],
            title=f"adaptive {adaptive.adaptive:.3f}, retrieval {adaptive.retrieval:.3f}, "
            f"parametric {adaptive.parametric:.3f}",
        )


def _values(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    return {
        "first line": scores["first_line"]["value"],
        "whole output": scores["whole_output"]["value"],
        "n": scores["first_line"]["n"],
    }
