"""`whichone build splits`: parts of a benchmark that share no name and no entity."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, Words, json_option, seed_option
from whichone.errors import UsageError


@click.command("splits")
@makes("out", parts=True)
@click.argument("benchmark", type=BenchmarkName())
@click.argument("out", type=click.Path())
@click.option(
    "--shares",
    type=Words(),
    default="train=0.8,dev=0.1,test=0.1",
    show_default=True,
    help="The parts and their shares of the queries.",
)
@click.option("--by", help="Instead: a part for each value of this attribute, such as split.")
@seed_option
@json_option
def command(
    benchmark: str, out: str, shares: tuple[str, ...], by: str | None, seed: int, as_json: bool
) -> None:
    """Split BENCHMARK by name into benchmarks OUT/train, OUT/dev and OUT/test.

    Names that share an entity or a gold page go together, so that nothing learnt on one part is
    asked in another. All parts are asked of the same corpus.

    \b
    whichone build splits BENCH PARTS --shares train=0.7,test=0.3 --seed 1
    whichone build splits INVENTORS PARTS --by split
    """
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.benchmarks.derive import own_parts, split_benchmark
    from whichone.cli.output import emit_json, emit_table

    whole = Benchmark.open(benchmark)
    splits = (
        own_parts(whole, out, by) if by else split_benchmark(whole, out, _shares(shares), seed=seed)
    )
    rows = [
        {
            "part": part,
            "id": split.id,
            "queries": split.folder.manifest.counts["queries"],
            "sets": split.folder.manifest.counts["sets"],
            "path": str(split.folder.root),
        }
        for part, split in splits.items()
    ]
    if as_json:
        emit_json(rows)
    else:
        emit_table(rows)


def _shares(words: tuple[str, ...]) -> dict[str, float]:
    from whichone.benchmarks.derive import checked_part

    shares = {}
    for word in words:
        part, _, share = word.partition("=")
        try:
            shares[part] = float(share)
        except ValueError:
            raise UsageError(f"{word!r} is no part and share", hint="write it as dev=0.1") from None
        checked_part(part)
    return shares
