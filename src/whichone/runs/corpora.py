"""Opens a corpus where its folder, or a benchmark that has one, is named."""

from __future__ import annotations

from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.corpus.corpus import KIND, Corpus, remember
from whichone.files.folder import Folder


def open_corpus(where: str | Path) -> Corpus:
    """A corpus folder, or the corpus of a benchmark (also a built-in one)."""
    if str(where).startswith("builtin/"):
        return Benchmark.open(where).corpus
    folder = Folder.open(where, (KIND, BENCHMARK))
    if folder.manifest.kind == BENCHMARK:
        return Benchmark.open(where).corpus
    corpus = Corpus.open(where)
    remember(corpus)
    return corpus
