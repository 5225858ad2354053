"""The AmbER sets that come with whichone."""

from __future__ import annotations

import tempfile
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.papers.amber.build import build_amber
from whichone.papers.amber.collection import PUBLISHED, load_collection


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """AmbER sets of the built-in world: 85 shared names, three tasks.

    Both collections are over one corpus.
    """
    with tempfile.TemporaryDirectory() as temporary:
        parts = [
            build_amber(kb, Path(temporary) / name, load_collection(name))[0] for name in PUBLISHED
        ]
        return save_benchmark(
            out,
            name="builtin-amber",
            queries=[query for part in parts for query in part.queries],
            sets=[name_set for part in parts for name_set in part.sets],
            passages=parts[0].passages,
            card="\n".join(part.card for part in parts),
            parameters={part.name: part.folder.manifest.parameters for part in parts},
            sources=parts[0].folder.manifest.sources,
            parents=parts[0].folder.manifest.parents,
            counts={"sets": sum(len(part.sets) for part in parts)},
        )
