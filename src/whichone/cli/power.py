"""`whichone power`: how many names a difference takes."""

from __future__ import annotations

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(), metavar="[BENCH] [RUN]...")
@click.option(
    "--difference", type=float, required=True, help="The difference to see, such as 0.05."
)
@click.option("--measure", default="acc@1", show_default=True, help="A measure of the runs.")
@click.option("--power", default=0.8, show_default=True, help="How surely it is to be seen.")
@click.option(
    "--benchmark", default=None, help="Where the benchmark is stored now, if it was moved."
)
@json_option
def command(
    folders: tuple[str, ...],
    difference: float,
    measure: str,
    power: float,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Say how many names of BENCH it takes to see a difference, from two or more pilot RUNS over it.

    BENCH alone takes the runs over it that are stored beside it; runs alone are enough too.

    \b
    whichone power BENCH --difference 0.05
    whichone power RUN_A RUN_B --difference 0.05
    whichone power RUN_A RUN_B --difference 0.02 --measure confused@20 --power 0.9
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.measures.comparison import names_needed
    from whichone.measures.measure import parse_measure
    from whichone.measures.scores import distinctly_named, score_folder
    from whichone.runs.run import pilot_runs

    place, runs = pilot_runs(folders)
    benchmark = benchmark or place
    scores = distinctly_named(
        [score_folder(run, (measure,), benchmark=benchmark) for run in runs], runs
    )
    needed = names_needed(scores, parse_measure(measure), difference, power=power)
    if as_json:
        emit_json(needed)
        return
    rows = [
        {
            "measure": n.measure,
            "a": n.a,
            "b": n.b,
            "names in the pilot": n.pilot,
            f"names for {difference:g}": f"{n.names:,}",
            "the pilot sees": f"{n.smallest:.3f}",
        }
        for n in needed
    ]
    emit_table(rows, title=f"names to see a difference of {difference:g} with power {power:g}")
