"""`whichone build small`: a benchmark over a small corpus of its own."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option
from whichone.errors import BadInput, UsageError


@click.command("small")
@makes("places")
@click.argument("places", nargs=-1, required=True, type=click.Path(), metavar="BENCH [RUN...] OUT")
@click.option("-k", default=20, show_default=True, help="How many pages of each ranking.")
@json_option
def command(places: tuple[str, ...], k: int, as_json: bool) -> None:
    """Keep the queries of BENCH and only the pages that make them hard; write it to OUT.

    Gold pages, the pages of all bearers of the names, and the first k pages of each RUN for each
    query: a corpus for a laptop, beside the full one.

    \b
    whichone build small BENCH RUN_BM25 RUN_DENSE OUT -k 20
    """
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.benchmarks.derive import small_corpus
    from whichone.cli.output import emit_benchmark
    from whichone.runs.run import Run

    if len(places) < 2:
        raise UsageError("a benchmark first, then runs, last the folder to write")
    benchmark = Benchmark.open(places[0])
    runs = [Run.open(place) for place in places[1:-1]]
    for run in runs:
        if run.benchmark_id != benchmark.id:
            raise BadInput(f"the run is over {run.benchmark_id}, not {benchmark.id}", file=run.path)
    names = [run.name for run in runs]
    notes = [
        n if names.count(n) == 1 else f"{n} ({r.path.name})"
        for n, r in zip(names, runs, strict=True)
    ]
    created = small_corpus(
        benchmark,
        places[-1],
        {name: run.ranked_pages() for name, run in zip(notes, runs, strict=True)},
        k=k,
        sources={f"run {n}": r.folder.content_hash for n, r in zip(notes, runs, strict=True)},
    )
    emit_benchmark(created, as_json)
