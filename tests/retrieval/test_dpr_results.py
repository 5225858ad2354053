"""DPR's results files, in and out, and as runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput
from whichone.records import Output, Passage, Query, Ranking
from whichone.runs.predictions import (
    rankings_of_results,
    read_dpr_results,
    results_of_run,
    score_of,
    write_dpr_results,
)
from whichone.runs.runner import Runner


def ctx(identity: str, score: Any) -> dict[str, Any]:
    return {"id": identity, "title": "t", "text": "x", "score": score, "has_answer": True}


def write(path: Path, *ctxs: dict[str, Any], question: str = "who?") -> Path:
    path.write_text(json.dumps([{"question": question, "answers": ["a"], "ctxs": list(ctxs)}]))
    return path


def test_scores_as_text_or_number(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", ctx("1", "80.5"), ctx("2", 79.25))
    (result,) = read_dpr_results(path)
    assert [score_of(c, n, path) for n, c in enumerate(result.ctxs)] == [80.5, 79.25]
    write_dpr_results(tmp_path / "text.json", [result])
    write_dpr_results(tmp_path / "number.json", [result], scores_as_text=False)
    text = json.loads((tmp_path / "text.json").read_text())
    number = json.loads((tmp_path / "number.json").read_text())
    assert [c["score"] for c in text[0]["ctxs"]] == ["80.5", "79.25"]
    assert [c["score"] for c in number[0]["ctxs"]] == [80.5, 79.25]
    assert text[0]["ctxs"][0] == ctx("1", "80.5")


def test_a_score_that_is_no_number_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", ctx("1", "high"))
    (result,) = read_dpr_results(path)
    with pytest.raises(BadInput, match="passage 1 is no number: 'high'"):
        score_of(result.ctxs[0], 0, path)


def test_python_numbers_and_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", ctx("1", float("inf")))
    assert next(read_dpr_results(path)).ctxs[0].score == float("inf")
    path.write_text('[{"question": "who?", "answers"]')
    with pytest.raises(BadInput, match=r"r\.json"):
        list(read_dpr_results(path))


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    passages = [
        Passage(id=f"c:{n}#0", page=f"c:{n}", title=n, text=f"text {n}", source_id=n) for n in ("1", "2")
    ]
    queries = [Query(id=f"q{n}", task="qa", input="who?", outputs=(Output(answer="1"),)) for n in (1, 2)]
    return save_benchmark(tmp_path / "bench", name="b", queries=queries, passages=passages)


class Fixed:
    def search(self, questions: Any, k: int) -> Any:
        return [Ranking(question=q.id, passages=("c:2#0", "c:1#0"), scores=(2.0, 1.0)) for q in questions]


def test_a_run_goes_out_and_comes_in(benchmark: Benchmark, tmp_path: Path) -> None:
    run = Runner(Fixed(), benchmark, k=2).run(tmp_path / "run", name="fixed", description={})
    results = list(results_of_run(run, benchmark, lambda q, p: p.text == "text 1"))
    assert [(c.id, c.score, c.has_answer) for c in results[0].ctxs] == [("2", 2.0, False), ("1", 1.0, True)]
    write_dpr_results(tmp_path / "out.json", results)
    assert list(rankings_of_results(tmp_path / "out.json", benchmark)) == [
        Ranking(question=q, passages=("c:2#0", "c:1#0"), scores=(2.0, 1.0)) for q in ("q1", "q2")
    ]


def test_strangers_are_named(benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not ask 'where"):
        list(rankings_of_results(write(tmp_path / "r.json", question="where?"), benchmark))
    with pytest.raises(BadInput, match=r"does not hold these passages.* 9"):
        list(rankings_of_results(write(tmp_path / "r.json", ctx("9", 1)), benchmark))
