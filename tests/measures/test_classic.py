"""The classic measures against pytrec_eval itself, to the last digit, and ties as trec_eval orders them."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import save_benchmark
from whichone.measures.measure import Retrieved, parse_measure, parse_measures
from whichone.measures.scores import score_run
from whichone.records import Output, Passage, Provenance, Query
from whichone.runs.run_files import import_run

pytrec_eval = pytest.importorskip("pytrec_eval")
pytest.importorskip("ir_measures")

THEIRS = {
    "nDCG@10": "ndcg_cut_10",
    "nDCG": "ndcg",
    "MAP": "map",
    "MAP@5": "map_cut_5",
    "P@5": "P_5",
    "R@5": "recall_5",
    "RR": "recip_rank",
    "bpref": "bpref",
}


def judged_query(number: int, grades: dict[str, int]) -> Query:
    entries = tuple(
        Provenance(page=page, attributes={"relevance": grade}) for page, grade in grades.items() if grade
    )
    return Query(
        id=f"q{number}",
        task="qa",
        input="?",
        outputs=(Output(provenance=(entries,)),),
        attributes={"judged_not_relevant": [page for page, grade in grades.items() if not grade]},
    )


def test_by_hand() -> None:
    """Grades 2 and 1, found second and fourth of four, the first is judged not relevant."""
    query = judged_query(0, {"a": 2, "b": 1, "n": 0})
    retrieved = Retrieved(query, ["n", "a", "x", "b"], query.gold_pages(), frozenset())
    found = {name: parse_measure(name).value(retrieved) for name in (*THEIRS, "judged@4")}
    gain = 2 / math.log2(3) + 1 / math.log2(5)
    assert found["nDCG@10"] == pytest.approx(gain / (2 + 1 / math.log2(3)))
    assert found["MAP"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert (found["P@5"], found["R@5"], found["RR"]) == pytest.approx((2 / 5, 1, 1 / 2))
    assert found["judged@4"] == 3 / 4
    assert found["bpref"] == 0


def test_no_gold_no_figure() -> None:
    query = Query(id="q", task="qa", input="?")
    assert parse_measure("nDCG@10").value(Retrieved(query, ["a"], frozenset(), frozenset())) is None


def test_equal_to_pytrec_eval_with_ties(tmp_path: Path) -> None:
    """Random judgements and runs with many equal scores, through a TREC file: equal, not nearly equal."""
    draw = random.Random(3)
    pages = [f"d{n}" for n in range(40)]
    passages = [Passage(id=f"{p}#0", page=p, title=p, text=p, source_id=f"own-{p}") for p in pages]
    grades = {f"q{n}": {p: draw.choice([0, 0, 1, 2, 3]) for p in draw.sample(pages, 12)} for n in range(30)}
    for own in grades.values():
        own[draw.choice(pages)] = 1
    queries = [judged_query(n, grades[f"q{n}"]) for n in range(30)]
    bench = save_benchmark(tmp_path / "bench", name="b", queries=queries, passages=passages)
    run: dict[str, dict[str, float]] = {}
    lines = []
    for query in queries:
        run[query.id] = {p: draw.choice([0.5, 1.5, 1.5 + 1e-9, 2.5]) for p in draw.sample(pages, 25)}
        for rank, (page, score) in enumerate(run[query.id].items(), 1):
            lines.append(f"{query.id} Q0 {page} {rank} {score!r} tag")
    file = tmp_path / "run.txt"
    file.write_text("\n".join(lines))
    taken = import_run(file, tmp_path / "run", bench, place=str(bench.folder.root), format="trec")
    scores = score_run(taken, bench, parse_measures(list(THEIRS)))
    theirs = pytrec_eval.RelevanceEvaluator(
        grades, {"ndcg_cut.10", "ndcg", "map", "map_cut.5", "P.5", "recall.5", "recip_rank", "bpref"}
    ).evaluate(run)
    for ours, name in THEIRS.items():
        expected = [theirs[query.id][name] for query in queries]
        assert scores.values[ours].tolist() == expected, ours
