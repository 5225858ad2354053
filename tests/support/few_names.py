"""A benchmark about every so-manieth of a benchmark's names, over the same corpus: the same ways in less time."""

from __future__ import annotations

from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark


def few_names(whole: Benchmark, place: Path, each: int) -> Benchmark:
    """Name sets as they are, with all their queries; a copy of the corpus, and the same parents."""
    sets = whole.sets[::each]
    names = {name_set.id for name_set in sets}
    queries = [query for query in whole.queries if query.name_set in names]
    manifest = whole.folder.manifest
    return save_benchmark(
        place, name=manifest.name, queries=queries, sets=sets, passages=whole.corpus, parents=manifest.parents
    )
