"""Folders of every format that was ever released stay readable, with the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.score import score_folder, slice_rows

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("folder", sorted(FIXTURES.glob("format_*")), ids=lambda p: p.name)
def test_old_folders_open_and_score_as_they_did(folder: Path) -> None:
    benchmark = Benchmark.open(folder / "benchmark")
    benchmark.folder.verify()
    assert len(benchmark.queries) == 8
    assert benchmark.queries[3].question().text == "question 3"
    scores = score_folder(folder / "run", ["acc@1", "confused@20"], benchmark=folder / "benchmark")
    found = {
        row["role"]: (row["acc@1"]["value"], row["confused@20"]["value"])
        for row in slice_rows(scores, ["role"])
    }
    assert found == {"head": (1.0, 0.0), "tail": (0.0, 1.0)}
