"""TREC exports that others score: run and judgements of one unit, and ir_measures gives our own figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from finished_demo import finished_demo

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import NOT_RELEVANT, RELEVANCE
from whichone.errors import UsageError
from whichone.measures.measure import parse_measures
from whichone.measures.scores import estimate, score_run
from whichone.records import Output, Passage, Provenance, Query, Ranking
from whichone.report.show import export
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

ir_measures = pytest.importorskip("ir_measures")
THEIRS = {
    "acc@1": "Success@1", "acc@5": "Success@5", "rr": "RR", "RR@10": "RR@10", "P@3": "P@3", "R@5": "R@5",
    "nDCG@10": "nDCG@10", "nDCG": "nDCG", "MAP": "AP", "bpref": "Bpref", "judged@4": "Judged@4",
}  # fmt: skip


def compare_with_ir_measures(run: Run, benchmark: Benchmark, out: Path) -> None:
    export(str(run.path), out, "trec", str(benchmark.folder.root))
    assert {p.name for p in out.iterdir()} == {"run.pages.txt", "qrels.pages.txt", "CARD.md"}
    assert "TREC files of pages" in (out / "CARD.md").read_text()
    qrels = list(ir_measures.read_trec_qrels(str(out / "qrels.pages.txt")))
    ranked = list(ir_measures.read_trec_run(str(out / "run.pages.txt")))
    scores = score_run(run, benchmark, parse_measures(list(THEIRS)))
    for measure in scores.measures:
        theirs = ir_measures.parse_measure(THEIRS[str(measure)])
        values = {m.query_id: m.value for m in ir_measures.iter_calc([theirs], qrels, ranked)}
        ours = {
            q.id.replace(" ", "%20"): v
            for q, v in zip(scores.queries, scores.values[str(measure)], strict=True)
            if not np.isnan(v)
        }
        assert values == ours, str(measure)
        mean = ir_measures.calc_aggregate([theirs], qrels, ranked)[theirs]
        whole = estimate(scores, measure, np.arange(len(scores.queries)))
        assert whole.value == pytest.approx(mean, abs=1e-14)


@pytest.mark.parametrize("name", ["bm25", "function"])
def test_the_demo(name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`function` gives many equal scores."""
    place = finished_demo(tmp_path_factory) / "out"
    run, benchmark = Run.open(place / "runs" / name), Benchmark.open(place / "amber")
    compare_with_ir_measures(run, benchmark, tmp_path / "out")


def awkward(path: Path) -> Benchmark:
    """Pages of several passages, grades, judged pages that are not relevant, a question without gold, blanks in ids."""
    passages = [
        Passage(id=f"w:{n}#{part}", page=f"w:{n}", title=f"T {n}", text=f"text {n} {part}")
        for n in range(30)
        for part in range(3)
    ]
    draw = np.random.default_rng(5)
    queries = []
    for n in range(25):
        gold = [
            (Provenance(page=f"w:{p}", attributes={RELEVANCE: int(draw.integers(1, 4))}),)
            for p in draw.choice(15, int(draw.integers(1, 4)), replace=False)
        ]
        queries.append(
            Query(
                id=f"q {n}", task="qa", input=f"question {n}",
                outputs=(Output(answer="x", provenance=tuple(gold) if n != 7 else ()),),
                attributes={NOT_RELEVANT: [f"w:{p}" for p in draw.choice(np.arange(15, 30), 3, replace=False)]},
            )
        )  # fmt: skip
    return save_benchmark(path, name="b", queries=queries, passages=passages, allow_no_gold=True)


class Several:
    """Passages with many ties and pages that come back; nothing for some questions, a failure for one."""

    def search(self, questions, k):
        for question in questions:
            draw = np.random.default_rng(int(question.id.split()[1]))
            if question.id == "q 9":
                yield Ranking(question=question.id, passages=(), scores=())
                continue
            found = [f"w:{n // 3}#{n % 3}" for n in draw.permutation(90)[:k]]
            scores = sorted(draw.integers(0, 4, k).astype(float), reverse=True)
            yield Ranking(question=question.id, passages=tuple(found), scores=tuple(scores))


def test_awkward_questions(tmp_path: Path) -> None:
    benchmark = awkward(tmp_path / "bench")
    run = run_retriever(Several(), benchmark, tmp_path / "run", k=40, name="several")
    compare_with_ir_measures(run, benchmark, tmp_path / "out")


def test_one_unit_in_run_judgements_and_card(tmp_path: Path) -> None:
    benchmark = awkward(tmp_path / "bench")
    run = run_retriever(Several(), benchmark, tmp_path / "run", k=40, name="several")
    where = str(benchmark.folder.root)
    for unit in ("page", "passage"):
        export(str(run.path), tmp_path / unit, "trec", where, unit=unit)
        export(where, tmp_path / f"{unit}-bench", "trec", unit=unit)
        judged = f"qrels.{unit}s.txt"
        assert {p.name for p in (tmp_path / unit).iterdir()} == {f"run.{unit}s.txt", judged, "CARD.md"}
        assert (tmp_path / unit / judged).read_bytes() == (tmp_path / f"{unit}-bench" / judged).read_bytes()
        for place in (unit, f"{unit}-bench"):
            assert f"TREC files of {unit}s" in (tmp_path / place / "CARD.md").read_text()
        asked = {line.split()[2] for line in (tmp_path / unit / judged).read_text().splitlines()}
        found = {line.split()[2] for line in (tmp_path / unit / f"run.{unit}s.txt").read_text().splitlines()}
        assert asked & found and all(("#" in key) == (unit == "passage") for key in asked | found)
    export(str(run.path), tmp_path / "alone.txt", "trec", where)
    assert (tmp_path / "alone.qrels.pages.txt").exists()
    with pytest.raises(UsageError, match="--unit is for --format trec"):
        export(where, tmp_path / "x", "beir", unit="page")
