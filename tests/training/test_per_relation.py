"""The whole way of a user: train on a benchmark, retrieve and re-rank with what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli import whichone
from whichone.errors import UsageError
from whichone.records import Output, Passage, Provenance, Query
from whichone.retrieval.dense.dpr import Routes, learned_routes
from whichone.runs.retrieve import default_index_folder
from whichone.runs.run import Run

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

COMMON = ["--epochs", "1", "--batch", "4", "--device", "cpu", "--longest", "16"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Two relations asked of the same twenty pages, each in a wording of its own."""
    passages = [
        Passage(id=f"c:{n}#0", page=f"c:{n}", title=f"w{n}", text=f"w{n} w{20 + n} w{40 + n}")
        for n in range(20)
    ]
    queries = [
        Query(
            id=f"{relation}-{n}",
            task="qa",
            input=f"{asked} w{n}",
            name=f"w{n}",
            relation=relation,
            outputs=(Output(answer=f"w{n}", provenance=((Provenance(page=f"c:{n}"),),)),),
        )
        for relation, asked in (("P1", "w58"), ("P2", "w59"))
        for n in range(20)
    ]
    place = tmp_path_factory.mktemp("bench") / "b"
    return save_benchmark(place, name="b", queries=queries, passages=passages)


def call(*arguments: Any) -> str:
    done = CliRunner().invoke(whichone, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_one_index_for_all_question_encoders(
    bench: Benchmark, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, out = bench.folder.root, tmp_path / "out"
    start = ["--checkpoint", checkpoint, "--negatives", "bm25", *COMMON]
    words = ["train", "retriever", place, out, *start, "--mode", "only-questions"]
    call(*words, "--per", "relation")
    held = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    monkeypatch.setattr("whichone.training.trainer.environment", lambda: {"at": "later"})
    call(*words, "--per", "relation")
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == held
    assert sorted(p.name for p in (out / "best" / "relations").iterdir()) == ["P1", "P2"]
    assert not (out / "relations" / "P1" / "best" / "passages").exists()
    dense = ["--retriever", "dense", "-k", "20"]
    call("retrieve", place, tmp_path / "each", *dense, "--encoder", out / "best")
    call("retrieve", place, tmp_path / "joint", *dense, "--encoder", out / "joint" / "best")
    work = default_index_folder(bench.corpus)
    assert len(list(work.glob("vectors-*"))) == 1
    each, joint = (Run.open(tmp_path / name) for name in ("each", "joint"))
    assert each.rankings["score"].to_pylist() != joint.rankings["score"].to_pylist()
    told = each.description["model"]
    assert sorted(told["relations"]) == ["P1", "P2"]


def test_a_re_ranker_from_data_to_a_run(bench: Benchmark, checkpoint: Path, tmp_path: Path) -> None:
    place, out = bench.folder.root, tmp_path / "out"
    call("retrieve", place, tmp_path / "bm25", "-k", "10")
    start = ["--checkpoint", checkpoint, "--negatives", "bm25", *COMMON]
    assert "/best: 1 epochs" in call("train", "reranker", place, out, *start)
    first = ["-o", f"run={tmp_path / 'bm25'}", "-o", f"model={out / 'best'}"]
    call("retrieve", place, tmp_path / "re", "--retriever", "rerank", *first)
    assert Run.open(tmp_path / "re").folder.manifest.counts["questions"] == 40
    again = call("train", "reranker", place, out, *start, "--json")
    assert '"epochs": 1' in again
    turns = ["train", "reranker", place, out / "examples.jsonl", tmp_path / "turns", *start]
    assert '"steps": 4' in call(*turns, "--drop-leaks", "--per-source", 8, "--json")


def test_wordings_tell_the_relation(tmp_path: Path) -> None:
    asked = [("Where was Ann born?", "ann", "P19"), ("Where was Bo Li born?", "bo li", "P19")]
    asked += [("Where was Ann born and bred?", "ann", "P1"), ("Where was Bo born and bred?", "bo", "P1")]
    asked += [("Who is Ann?", "ann", "P9"), ("What is Ann's job?", "nobody", "P106")]
    routes = learned_routes(asked)
    routes.save(tmp_path / "routes.json")
    routes = Routes.open(tmp_path / "routes.json")
    assert routes.relation("where was Cy born?") == "P19"
    assert routes.relation("Where was Cy born and bred?") == "P1"
    assert routes.relation("Who is Cy?") is None  # seen once: no wording yet
    assert routes.relation("Where was born?") is None


def test_per_relation_needs_a_fixed_index(checkpoint: Path, bench: Benchmark, tmp_path: Path) -> None:
    from whichone.training.train_encoders import train_retriever
    from whichone.training.trainer import Start, TrainingSettings
    from whichone.training.training_data import LearningPlan

    plan, start = LearningPlan(sources=(str(bench.folder.root),)), Start(str(checkpoint))
    with pytest.raises(UsageError, match="one index"):
        train_retriever(
            plan, tmp_path, start=start, settings=TrainingSettings(), kind="dense", per_relation=True
        )


def test_places_that_cannot_be(bench: Benchmark, checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    start = ["--checkpoint", str(checkpoint)]
    for arguments, told in (
        ([tmp_path / "file", *start], "this is a file"),
        ([bench.folder.root, *start], "both input and output"),
        ([tmp_path / "out", "--checkpoint", "no-such-model"], "no installed package"),
        ([tmp_path / "out", "--checkpoint", tmp_path], "no model is in this folder"),
    ):
        words = ["train", "reranker", bench.folder.root, *arguments]
        done = CliRunner().invoke(whichone, list(map(str, words)))
        assert told in str(done.exception)
    assert not (tmp_path / "out").exists()
