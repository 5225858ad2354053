"""Published runs: the quick ones are made again to the digit, and the page is what they give."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from few_names import few_names

from whichone.benchmarks.benchmark import Benchmark
from whichone.runs.retrieve import recorded_call, reproduce, retrieve
from whichone.runs.run import Run

ROOT = Path(__file__).resolve().parent.parent


def leaderboard() -> ModuleType:
    sys.path.append(str(ROOT / "bench"))  # its programs share a module
    spec = importlib.util.spec_from_file_location("leaderboard", ROOT / "bench" / "leaderboard.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["leaderboard"] = module
    spec.loader.exec_module(module)
    return module


BOARD = leaderboard()
RUNS = [
    (b, s) for b in BOARD.BENCHMARKS for s in BOARD.QUICK if BOARD.at_hand(b) and BOARD.folder(b, s).exists()
]


SLOW = ("amber", "namesake-kb")
"""Made again for every sixth name: for all of them it takes as long as the other runs together."""


@pytest.mark.parametrize(("benchmark", "system"), [run for run in RUNS if run != SLOW])
def test_a_published_run_is_reproduced(benchmark: str, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, place = BOARD.folder(benchmark, system), BOARD.BENCHMARKS[benchmark]
    monkeypatch.chdir(ROOT)
    assert Run.open(run).benchmark_id == Benchmark.open(place).id, (
        "the built-in benchmark has changed: make the published runs anew, python bench/leaderboard.py"
    )
    found = reproduce(run, benchmark=place)
    assert found.same_order, found.other_order[:5]
    assert found.largest_difference < 1e-6


def test_a_slow_published_run_is_reproduced_for_some_names(tmp_path: Path) -> None:
    assert SLOW in RUNS
    run, whole = Run.open(BOARD.folder(*SLOW)), Benchmark.open(BOARD.BENCHMARKS[SLOW[0]])
    assert run.benchmark_id == whole.id
    (tmp_path / "kb").symlink_to(whole.folder.root.parent / "kb")
    some = few_names(whole, tmp_path / "some", 6)
    again = retrieve(some, tmp_path / "run", name=run.name, **recorded_call(run))
    asked = {query.id for query in some.queries}
    ranked, scored = again.ranked_passages(), again.ranked_scores()
    assert len(asked) > 150 and set(ranked) == asked & set(run.ranked_passages())
    for question, passages in ranked.items():
        assert passages == run.ranked_passages()[question]
        assert scored[question] == pytest.approx(run.ranked_scores()[question], abs=1e-6)


def test_manifests_have_no_place_of_a_machine() -> None:
    for manifest in (ROOT / BOARD.PLACE).rglob("manifest.json"):
        text = manifest.read_text()
        assert str(ROOT) not in text and '"/' not in text, manifest


def test_the_page_and_its_tables_are_fresh(tmp_path: Path) -> None:
    fresh = "python bench/leaderboard.py --page"
    assert (ROOT / "docs" / "leaderboard.md").read_text() == BOARD.page(tmp_path), fresh
    for table in tmp_path.iterdir():
        assert table.read_text("utf-8") == (BOARD.DATA / table.name).read_text("utf-8"), fresh
