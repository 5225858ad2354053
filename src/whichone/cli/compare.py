"""`whichone compare`: systems side by side."""

from __future__ import annotations

import click

from whichone.cli.options import Measures, Words, json_option, moved_benchmark_option, seed_option


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--measures",
    type=Measures(),
    default="",
    help="Such as acc@1,confused@20 of runs, em,f1 of answers; else the usual ones of their kind.",
)
@click.option(
    "--by",
    type=Words(),
    default="",
    help="Compare in every slice by columns or attributes of the queries: role,relation.",
)
@click.option("--baseline", default=None, help="Compare each system with this one only.")
@moved_benchmark_option
@seed_option
@json_option
def command(
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    by: tuple[str, ...],
    baseline: str | None,
    benchmark: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Compare two or more RUNS (or ANSWERS) over one benchmark: paired tests by cluster.

    \b
    whichone compare RUN_A RUN_B --measures acc@1,confused@20
    whichone compare RUN_A RUN_B --measures acc@1 --by dataset,shared_name
    whichone compare OTHER_BEARER GOLD --measures em    # what confusion costs
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.measures.comparison import compare, comparison_rows
    from whichone.measures.intervals import cluster_note
    from whichone.measures.scores import distinctly_named, score_folder
    from whichone.progress import talk

    scores = distinctly_named(
        [score_folder(run, measures, benchmark=benchmark or None) for run in runs], runs
    )
    comparisons = compare(scores, scores[0].measures, by=by, seed=seed, baseline=baseline)
    for score in scores:
        for caution in score.cautions():
            talk(f"whichone: {caution}")
    if as_json:
        emit_json(comparisons)
        return
    emit_table(
        comparison_rows(comparisons),
        title=f"paired by cluster on {scores[0].benchmark}",
    )
    click.echo(f"b - a: {cluster_note(scores[0].queries)}; p: permutation test by cluster")
