"""Folders of every format that was ever released stay readable, with the same numbers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.migrate import migrate
from whichone.measures.scores import score_folder, slice_rows

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


@pytest.mark.parametrize("folder", sorted(FIXTURES.glob("format_*")), ids=lambda p: p.name)
def test_migrated_folders_match_their_old_runs(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "old")
    before = Benchmark.open(tmp_path / "old" / "benchmark")
    kept = before.id, before.queries, before.sets, list(before.passage_records())
    assert migrate(tmp_path / "old") == [tmp_path / "old" / "benchmark"]
    after = Benchmark.open(tmp_path / "old" / "benchmark")
    after.folder.verify()
    assert kept == (after.id, after.queries, after.sets, list(after.passage_records()))
    assert not after.folder.has("passages.parquet")
    assert after.corpus.folder is not None
    place = tmp_path / "old" / "benchmark"
    scores = score_folder(tmp_path / "old" / "run", ["acc@1"], benchmark=place)
    assert {r["role"]: r["acc@1"]["value"] for r in slice_rows(scores, ["role"])} == {
        "head": 1.0,
        "tail": 0.0,
    }
    assert migrate(tmp_path / "old") == []
    assert sorted(p.name for p in (tmp_path / "old").iterdir()) == ["benchmark", "run"]
