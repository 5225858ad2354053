"""KILT's files as training data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.kilt.datasets import dataset_and_split
from whichone.papers.kilt.import_files import Plan, import_kilt
from whichone.training.held_out import TRAIN, split_mark
from whichone.training.training_data import Corpus


class KiltFiles:
    """A .jsonl of KILT's with outputs."""

    title = "KILT"

    def reads(self, head: bytes) -> bool:
        return b'"id"' in head and b'"output"' in head

    def reads_folder(self, folder: Path) -> bool:
        return False

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: Corpus, work: Path, place: Path
    ) -> Benchmark:
        return import_kilt(
            files,
            place,
            Plan(knowledge=corpus.knowledge, split=_split(files)),
        )


def _split(files: Sequence[Path]) -> str | None:
    """A file of anybody's own is to learn from, unless its name says dev or test."""
    if all(dataset_and_split(file) for file in files):
        return None
    return split_mark(files[0].name) or TRAIN
