"""A reader's own re-ranking as a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.records import Question
from whichone.runs.retrieve import make_retriever
from whichone.runs.run import ANSWERS, ANSWERS_KIND
from whichone.runs.runner import run_retriever


def answers(place: Path, benchmark_id: str, shown: list[str]) -> str:
    rows = [
        {"question": "q1", "text": "x", "passages": ["w:2#0"], "shown": shown, "notes": "{}"},
        {"question": "q2", "text": None, "passages": [], "shown": shown, "notes": "{}"},
    ]
    with Folder.create(place, ANSWERS_KIND) as folder:
        folder.write(ANSWERS, ANSWERS.from_rows(rows))
        folder.commit(name="reader", parents={"benchmark": benchmark_id})
    return str(place)


def test_what_the_answer_rests_on_comes_first(small: Benchmark, tmp_path: Path) -> None:
    place = answers(tmp_path / "answers", small.id, ["w:1#0", "w:2#0", "w:3#0"])
    retriever = make_retriever("reader-order", small, tmp_path, {"answers": place})
    asked = [Question(id="q1", text="?"), Question(id="q2", text="?"), Question(id="q3", text="?")]
    found = [r.passages for r in retriever.search(asked, 2)]
    assert found == [("w:2#0", "w:1#0"), ("w:1#0", "w:2#0"), ()]
    run = run_retriever(retriever, small, tmp_path / "run", k=3, name="reader")
    assert run.description["from"]["answers"] == "reader"


def test_answers_that_cannot_be_used(small: Benchmark, tmp_path: Path) -> None:
    other = answers(tmp_path / "other", "other-000000000000", ["w:1#0"])
    with pytest.raises(BadInput, match="other-000000000000"):
        make_retriever("reader-order", small, tmp_path, {"answers": other})
    with Folder.create(tmp_path / "none", ANSWERS_KIND) as folder:
        folder.write(ANSWERS, ANSWERS.empty())
        folder.commit(name="reader", parents={"benchmark": small.id})
    with pytest.raises(BadInput, match="no passages"):
        make_retriever("reader-order", small, tmp_path, {"answers": str(tmp_path / "none")})
