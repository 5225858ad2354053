"""Fusion of runs, by hand and through folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Question
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.retrieval.rerank import reciprocal_rank, weighted_scores
from whichone.runs.from_runs import RunFusion
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever

A = [("x", 9.0), ("y", 5.0), ("z", 1.0)]
B = [("z", 0.9), ("w", 0.5)]


def test_reciprocal_ranks() -> None:
    assert reciprocal_rank([A, B], [1, 1], 60) == [
        ("z", pytest.approx(1 / 63 + 1 / 61)),
        ("x", pytest.approx(1 / 61)),
        ("w", pytest.approx(1 / 62)),
        ("y", pytest.approx(1 / 62)),
    ]


def test_weights_change_the_order() -> None:
    assert [i for i, _ in reciprocal_rank([A, B], [3, 1], 60)] == ["z", "x", "y", "w"]
    assert [i for i, _ in weighted_scores([A, B], [3, 1])] == ["x", "y", "z", "w"]


def test_scores_are_brought_to_one_scale() -> None:
    assert weighted_scores([A, B], [1, 1]) == [("x", 1.0), ("z", 1.0), ("y", 0.5), ("w", 0.0)]
    assert weighted_scores([[("a", 3.0), ("b", 3.0)], []], [1, 1]) == [("a", 1.0), ("b", 1.0)]


def run(small: Benchmark, place: Path, *ids: str) -> str:
    retriever = FunctionRetriever(lambda text, k: list(ids), name="fixed")
    run_retriever(retriever, small, place, k=5, name=place.name)
    return str(place)


def test_runs_are_fused_and_named(small: Benchmark, tmp_path: Path) -> None:
    runs = ",".join(
        [run(small, tmp_path / "a", "w:1#0", "w:2#0"), run(small, tmp_path / "b", "w:2#0", "w:3#0")]
    )
    retriever = make_retriever("fusion", small, tmp_path, {"runs": runs})
    (ranking,) = retriever.search([Question(id="q3", text="?")], 2)
    assert ranking.passages == ("w:2#0", "w:1#0")
    told = retriever.describe()  # type: ignore[attr-defined]
    assert [r["run"] for r in told["fused"]] == ["a", "b"]
    assert told["constant"] == 60


def test_what_cannot_be_fused(small: Benchmark, tmp_path: Path) -> None:
    passages, pages = run(small, tmp_path / "a", "w:1#0"), run(small, tmp_path / "b", "w:1")
    with pytest.raises(UsageError, match="two runs"):
        RunFusion.for_run(small, tmp_path, runs=passages)
    with pytest.raises(BadInput, match="rank pages"):
        RunFusion.for_run(small, tmp_path, runs=f"{passages},{pages}")
    with pytest.raises(UsageError, match="3 weights for 2 rankings"):
        RunFusion.for_run(small, tmp_path, runs=f"{pages},{pages}", weights="1,2,3")
    with pytest.raises(UsageError, match="method"):
        make_retriever("fusion", small, tmp_path, {"runs": f"{pages},{pages}", "method": "sum"})
