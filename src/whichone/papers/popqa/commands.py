"""The commands of PopQA."""

from typing import Annotated

import click

from whichone.cli.click_options import corpus_option, gold_outside_option, own_options
from whichone.cli.printing import emit_benchmark, emit_json, emit_table, makes, write_rows
from whichone.options import Json, Option, PerQuery, Seed


@click.command()
@click.argument("predictions", type=click.Path(exists=True))
@own_options
def score_popqa_command(
    predictions: str,
    *,
    gold: Annotated[str, Option("PopQA: .tsv, .json or .jsonl.", kind="exists")],
    field: Annotated[
        str | None, Option("Field that contains the prediction.", flags=("--prediction",))
    ] = None,
    parametric: Annotated[
        str | None,
        Option(
            "Predictions without retrieval: gives the popularity below which retrieval helps.", kind="exists"
        ),
    ] = None,
    splits: Annotated[int, Option("Random splits for the threshold.")] = 100,
    seed: Seed = 0,
    per_query: PerQuery = None,
    as_json: Json = False,
) -> None:
    """Score PREDICTIONS for PopQA: an answer in the first line, and anywhere in the output.

    Predictions are records with an id (or the question) and a text, or a list in the gold's order.

    \b
    whichone score popqa predictions.jsonl --gold test.tsv --parametric closed-book.jsonl --json
    """
    from whichone.papers.popqa.popqa import (
        compare_with_parametric,
        judge,
        read_popqa,
        read_predictions,
        rows,
        summary,
    )

    queries = list(read_popqa(gold))
    judged = judge(queries, read_predictions(predictions, queries, field))
    scores = summary(judged)
    if parametric:
        without = judge(queries, read_predictions(parametric, queries, field))
        scores["adaptive_retrieval"] = compare_with_parametric(judged, without, splits=splits, seed=seed)
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


@click.command()
@makes("benchmark")
@click.argument("file", type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@own_options
@gold_outside_option
@corpus_option
def import_popqa_command(
    file: str,
    benchmark: str,
    *,
    passages: Annotated[
        str | None, Option("Passages for a corpus of its own: .jsonl, .tsv, BEIR.", kind="exists")
    ] = None,
    called: Annotated[str, Option("The benchmark's name.")] = "popqa",
    as_json: Json = False,
) -> None:
    """Make a benchmark of PopQA's FILE (.tsv, .json or .jsonl); gold is the subject's page.

    \b
    whichone import popqa test.tsv BENCH --passages passages.jsonl
    whichone import popqa test.tsv BENCH --corpus CORPUS
    """
    from whichone.benchmarks.question_files import import_published
    from whichone.papers.popqa.popqa import read_popqa

    about = "PopQA: questions about one fact, with the subject's monthly page views (`s_pop`)."
    created = import_published(read_popqa(file), passages, benchmark, name=called, files=[file], about=about)
    emit_benchmark(created, as_json)
