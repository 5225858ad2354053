"""`whichone train space`: how close passages lie before and after a training."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, json_option, seed_option
from whichone.errors import UsageError


@click.command()
@makes("places", decides=False)
@click.argument("places", nargs=-1, required=True, type=BenchmarkName(), metavar="BENCHMARK... OUT")
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    required=True,
    metavar="PATH|NAME|PACKAGE",
    help="One panel each: the checkpoint a training began with, and what it came to.",
)
@click.option("--relation", help="Whose gold passages are set off. [default: the most frequent]")
@click.option(
    "--most", default=400, show_default=True, help="Passages of each colour, and pairs of bearers."
)
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def command(
    places: tuple[str, ...],
    encoders: tuple[str, ...],
    relation: str | None,
    most: int,
    device: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw the gold passages of BENCHMARKs as encoders see them (t-SNE) to OUT (.png, .svg, .pdf).

    Printed are mean cosines: of the relation's passages, of the others, between both, and of the
    first passages of pages that share a name. An encoder may be a DPR pair or its passage half.

    \b
    whichone train space BENCH space.png --encoder all-MiniLM-L6-v2 --encoder OUT/best --relation P19
    """
    from pathlib import Path

    import msgspec

    from whichone.benchmarks.benchmark import Benchmark
    from whichone.cli.output import emit_json, emit_table
    from whichone.runs.retrieve import default_index_folder
    from whichone.training import space

    *benchmarks, out = places
    if not benchmarks:
        raise UsageError("benchmarks first, then the figure", hint="BENCHMARK... OUT")
    opened = [Benchmark.open(place) for place in benchmarks]
    sample = space.sample_passages(
        opened, default_index_folder(opened[0].corpus), relation, most=most, seed=seed
    )
    spaces = []
    for name in encoders:
        vectors = space.vectors_of(space.open_space_encoder(name, device), sample)
        spaces.append((space.closeness(name, vectors, sample), vectors))
    space.draw_space(Path(out), spaces, sample, seed=seed)
    rows = [msgspec.structs.asdict(description) for description, _ in spaces]
    if as_json:
        emit_json({"figure": out, "relation": sample.relation, "closeness": rows})
    else:
        emit_table(rows, title=f"{out}: mean cosines, {sample.relation}")
