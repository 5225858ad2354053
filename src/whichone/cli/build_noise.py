"""`whichone build noise`: the same questions with names as people write them."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option


@click.command("noise")
@makes("out")
@click.argument("bench", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--kind", "kinds", multiple=True, help="Only this kind of noise; repeatable.")
@click.option(
    "--strongest",
    default=3,
    show_default=True,
    type=click.IntRange(1, 5),
    help="Up to so many edits, words by initials, or words left out.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
@json_option
def command(
    bench: str, out: str, kinds: tuple[str, ...], strongest: int, seed: int, as_json: bool
) -> None:
    """Write the names in the questions of BENCH as people do, and keep the clear ones beside, in OUT.

    Kinds are typo, initials, order, nickname, accents, partial, possessive and case. Every system can then be
    scored against the kind and the strength of noise.

    \b
    whichone build noise BENCH OUT --kind typo --kind initials
    whichone retrieve OUT RUN --retriever bm25
    whichone score RUN --measures acc@1 --by noise,strength
    """
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.benchmarks.derive import KINDS, noisy_benchmark
    from whichone.cli.output import emit_benchmark

    created = noisy_benchmark(
        Benchmark.open(bench), out, kinds=kinds or tuple(KINDS), strongest=strongest, seed=seed
    )
    emit_benchmark(created, as_json)
