"""A model that was trained on the questions it is asked is named as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.lines import write_json_lines
from whichone.measures.budgets import Budgets
from whichone.measures.gate import check_budgets
from whichone.measures.scores import score_folder
from whichone.retrieval.baselines import TitleLookup
from whichone.runs.retrieve import learned_from
from whichone.runs.runner import run_retriever


@pytest.fixture
def trained(small: Benchmark, tmp_path: Path) -> Path:
    """A training's folder: three of the benchmark's questions, and one that it does not ask."""
    (tmp_path / "out" / "best").mkdir(parents=True)
    (tmp_path / "out" / "joint" / "best").mkdir(parents=True)
    asked = [query.input for query in small.queries[:3]]
    examples = [{"id": f"e{n}", "question": q} for n, q in enumerate([*asked, "Another?"])]
    write_json_lines(tmp_path / "out" / "examples.jsonl", examples)
    return tmp_path / "out"


def test_questions_it_learned_from_are_counted(small: Benchmark, trained: Path) -> None:
    assert learned_from({"encoder": str(trained / "best")}, small) == 3
    assert learned_from({"encoder": str(trained / "joint" / "best")}, small) == 3
    assert learned_from({"model": str(trained / "best"), "run": "elsewhere"}, small) == 3
    assert learned_from({"encoder": str(trained.parent)}, small) == 0
    assert learned_from({"encoder": "all-MiniLM-L6-v2"}, small) == 0
    assert learned_from({}, small) == 0


def test_the_run_and_the_gate_say_so(small: Benchmark, tmp_path: Path) -> None:
    retriever = TitleLookup.over(small.corpus, tmp_path / "work")
    run = run_retriever(retriever, small, tmp_path / "run", k=1, name="mine", learned=3)
    assert run.folder.manifest.counts["learned_from"] == 3
    scores = score_folder(tmp_path / "run", ["acc@1", "confused@20"])
    report = check_budgets(scores, Budgets(max_confusion=1))
    assert "mine was trained on 3 of these 10 questions: what it finds there is no test" in (report.warnings)
