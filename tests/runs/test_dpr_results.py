"""DPR's results files, in and out, and as runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.records import Output, Passage, Query, Ranking
from whichone.runs.predictions import as_score, read_dpr_results
from whichone.runs.run import Run
from whichone.runs.run_files import import_run, results_of_run, write_dpr_results
from whichone.runs.runner import Runner


def ctx(identity: str, score: Any) -> dict[str, Any]:
    return {"id": identity, "title": "t", "text": "x", "score": score, "has_answer": True}


def write(path: Path, *ctxs: dict[str, Any], question: str = "who?") -> Path:
    path.write_text(json.dumps([{"question": question, "answers": ["a"], "ctxs": list(ctxs)}]))
    return path


def test_scores_as_text_or_number(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", ctx("1", "80.5"), ctx("2", 79.25))
    (result,) = read_dpr_results(path)
    assert [as_score(c.score, n, "x", path, 1) for n, c in enumerate(result.ctxs)] == [80.5, 79.25]
    write_dpr_results(tmp_path / "text.json", [result])
    write_dpr_results(tmp_path / "number.json", [result], scores_as_text=False)
    text = json.loads((tmp_path / "text.json").read_text())
    number = json.loads((tmp_path / "number.json").read_text())
    assert [c["score"] for c in text[0]["ctxs"]] == ["80.5", "79.25"]
    assert [c["score"] for c in number[0]["ctxs"]] == [80.5, 79.25]
    assert text[0]["ctxs"][0] == ctx("1", "80.5")


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
    back = bring(tmp_path / "out.json", benchmark, tmp_path)
    assert back.ranked_passages() == {q: ["c:2#0", "c:1#0"] for q in ("q1", "q2")}
    assert back.ranked_scores() == {q: [2.0, 1.0] for q in ("q1", "q2")}


def bring(file: Path, benchmark: Benchmark, folder: Path, **options: Any) -> Run:
    return import_run(file, folder / "back", benchmark, place="", format="dpr", **options)


@pytest.mark.parametrize(
    ("ctxs", "question", "message"),
    [
        ([], "where?", r"r\.json:1: the benchmark has no such query \(where"),
        ([ctx("9", 1)], "who?", r"r\.json:1: the corpus has no page or passage '9', returned for q1"),
        ([ctx("1", "high")], "who?", r"r\.json:1: the score of passage 1 is no number: 'high'"),
    ],
)
def test_what_does_not_fit_is_named(
    benchmark: Benchmark, tmp_path: Path, ctxs: Any, question: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        bring(write(tmp_path / "r.json", *ctxs, question=question), benchmark, tmp_path)


def test_a_folder_of_one_file_a_relation(tmp_path: Path) -> None:
    """As EntityQuestions' results lie: ids with and without `wiki:`, one text in two relations, a relation missing."""
    passages = [Passage(id=f"c:{n}#0", page=f"c:{n}", title=n, text=n, source_id=n) for n in ("1", "2")]
    queries = [
        Query(id=f"{r}-{n}", task="qa", input=text, relation=r, outputs=(Output(answer="1"),))
        for r in ("P19", "P20", "P26")
        for n, text in enumerate(("who?", f"where {r}?"))
    ]
    made = save_benchmark(tmp_path / "bench", name="b", queries=queries, passages=passages)
    results = tmp_path / "res"
    results.mkdir()
    for relation, first in (("P20", "wiki:2"), ("P19", "1")):
        records = [
            {"question": q.input, "answers": ["1"], "ctxs": [ctx(first, "2.0")]}
            for q in queries
            if q.relation == relation
        ]
        (results / f"{relation}.test.json").write_text(json.dumps(records))
    run = bring(results, made, tmp_path, name="dpr")
    assert run.ranked_passages() == {
        "P19-0": ["c:1#0"], "P19-1": ["c:1#0"], "P20-0": ["c:2#0"], "P20-1": ["c:2#0"],
    }  # fmt: skip
    assert run.failures == {} and set(run.left_out) == {"P26-0", "P26-1"}
    scores = score_run(run, made, parse_measures(["answer_in_top@1"]))
    assert np.nanmean(scores.values["answer_in_top@1"]) == 0.5 and scores.unasked == {"P26-0", "P26-1"}
    with pytest.raises(BadInput, match=r"2 of 6 queries have no ranking \(P26-0, P26-1\)"):
        bring(results, made, tmp_path / "whole", whole=True)
    (results / "P19.test.json").write_text(json.dumps([{"question": "who?", "answers": [], "ctxs": []}]))
    with pytest.raises(BadInput, match=r"1 of 6 queries have no ranking \(P19-1\)"):
        bring(results, made, tmp_path / "part")
    with pytest.raises(UsageError, match="one file a relation"):
        import_run(results, tmp_path / "x", made, place="", format="trec")
