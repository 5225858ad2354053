"""`whichone train space`: how close passages lie before and after a training."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, json_option, seed_option


@click.command()
@makes("out", decides=False)
@click.argument("benchmark", type=BenchmarkName())
@click.argument("out", type=click.Path(dir_okay=False))
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
    benchmark: str,
    out: str,
    encoders: tuple[str, ...],
    relation: str | None,
    most: int,
    device: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw the gold passages of BENCHMARK as encoders see them (t-SNE) to OUT (.png, .svg, .pdf).

    Printed are mean cosines: of the relation's passages, of the others, between both, and of the
    first passages of pages that share a name.

    \b
    whichone train space BENCH space.png --encoder all-MiniLM-L6-v2 --encoder OUT/best --relation P19
    """
    from pathlib import Path

    import msgspec

    from whichone.benchmarks.benchmark import Benchmark
    from whichone.cli.output import emit_json, emit_table
    from whichone.retrieval.dense.encoder import need_encoder
    from whichone.runs.retrieve import default_index_folder
    from whichone.training import space

    opened = Benchmark.open(benchmark)
    sample = space.sample_passages(
        opened, default_index_folder(opened.corpus), relation, most=most, seed=seed
    )
    found = []
    for name in encoders:
        vectors = space.vectors_of(need_encoder(name, device=device), sample)
        found.append((space.closeness(name, vectors, sample), vectors))
    space.draw_space(Path(out), found, sample, seed=seed)
    rows = [msgspec.structs.asdict(told) for told, _ in found]
    if as_json:
        emit_json({"figure": out, "relation": sample.relation, "closeness": rows})
    else:
        emit_table(rows, title=f"{out}: mean cosines, {sample.relation}")
