"""The commands of PopQA."""

from typing import Annotated

from whichone.benchmarks.question_files import import_published
from whichone.cli.click_options import command, corpus_option, gold_outside_option
from whichone.cli.printing import emit_benchmark, emit_json, emit_table
from whichone.files.lines import write_rows
from whichone.options import Existing, Json, Option, OwnPassages, PerQuery, Place
from whichone.papers.popqa.popqa import (
    PopqaScoring,
    compare_with_parametric,
    judge,
    read_popqa,
    read_popqa_predictions,
    rows,
    summary,
)


@command()
def score_popqa_command(
    predictions: Existing, *, plan: PopqaScoring, per_query: PerQuery = None, as_json: Json = False
) -> None:
    """Score PREDICTIONS for PopQA: an answer in the first line, and anywhere in the output.

    Predictions are records with an id (or the question) and a text, or a list in the gold's order.

    \b
    whichone score popqa predictions.jsonl --gold test.tsv --parametric closed-book.jsonl --json
    """
    queries = list(read_popqa(plan.gold))
    judged = judge(queries, read_popqa_predictions(predictions, queries, plan.field))
    scores = summary(judged)
    if plan.parametric:
        without = judge(queries, read_popqa_predictions(plan.parametric, queries, plan.field))
        scores["adaptive_retrieval"] = compare_with_parametric(judged, without, plan)
    if per_query:
        write_rows(per_query, rows(judged))
    if as_json:
        emit_json(scores)
        return
    slices = {f"{kind}: {k}": v for kind in ("relations", "popularity_bins") for k, v in scores[kind].items()}
    emit_table(
        [
            {"slice": name, "first line": v["first_line"]["value"],
             "whole output": v["whole_output"]["value"], "n": v["first_line"]["n"]}
            for name, v in {"all": scores, **slices}.items()
        ]
    )  # fmt: skip
    if plan.parametric:
        fit = scores["adaptive_retrieval"]
        rows_of = [{"relation": r, "retrieve below a popularity of": t} for r, t in fit.thresholds.items()]
        shares = f"retrieval {fit.retrieval:.3f}, parametric {fit.parametric:.3f}"
        emit_table(rows_of, title=f"adaptive {fit.adaptive:.3f}, {shares}")


@command(makes="benchmark")
@gold_outside_option
@corpus_option
def import_popqa_command(
    file: Existing,
    benchmark: Place,
    *,
    passages: OwnPassages = None,
    called: Annotated[str, Option("The benchmark's name.")] = "popqa",
    as_json: Json = False,
) -> None:
    """Make a benchmark of PopQA's FILE (.tsv, .json or .jsonl); gold is the subject's page.

    \b
    whichone import popqa test.tsv BENCH --passages passages.jsonl
    whichone import popqa test.tsv BENCH --corpus CORPUS
    """
    about = "PopQA: questions about one fact, with the subject's monthly page views (`s_pop`)."
    created = import_published(read_popqa(file), passages, benchmark, name=called, files=[file], about=about)
    emit_benchmark(created, as_json)
