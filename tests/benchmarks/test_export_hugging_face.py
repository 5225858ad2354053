"""A benchmark as a Hugging Face folder and as a task of mteb, opened by the real libraries."""

from __future__ import annotations

import importlib.util
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.tie_aware import expected_accuracy, expected_confusion, tie_aware_scores, tied_groups
from whichone.errors import UsageError
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, page_of
from whichone.report.show import export
from whichone.runs.retrieve import retrieve


@pytest.fixture
def bells(tmp_path: Path) -> Benchmark:
    texts = {"surgeon": "John Bell was a surgeon.", "bishop": "John Bell was a bishop."}
    passages = [
        Passage(id=f"w:{kind}#0", page=f"w:{kind}", title=f"John Bell ({kind})", text=text)
        for kind, text in texts.items()
    ]
    queries = [
        Query(
            id=f"q-{kind}",
            task="qa",
            input=f"Which John Bell was a {kind}?",
            outputs=(Output(answer=kind, provenance=((Provenance(page=f"w:{kind}"),),)),),
            role=role,
            name_set="s",
            attributes={"views": 3},
        )
        for kind, role in (("surgeon", "head"), ("bishop", "tail"))
    ]
    bearers = tuple(Bearer(entity=kind, pages=(f"w:{kind}",)) for kind in texts)
    sets = [NameSet(id="s", name="John Bell", bearers=bearers)]
    return save_benchmark(tmp_path / "bells", name="bells", queries=queries, passages=passages, sets=sets)


@pytest.mark.slow
def test_datasets_opens_the_folder(bells: Benchmark, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    written = export(str(bells.folder.root), tmp_path / "hf", "hf")
    assert written["queries/test.parquet"] == 2

    def load(name: str) -> list[dict[str, Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            place = str(tmp_path / "cache")
            return list(datasets.load_dataset(str(tmp_path / "hf"), name, split="test", cache_dir=place))

    queries = {row["id"]: row for row in load("queries")}
    bishop = queries["q-bishop"]
    assert queries["q-surgeon"]["role"] == "head"
    assert bishop["answers"] == ["bishop"] and bishop["attributes"] == '{"views":3}'
    assert [row["id"] for row in load("corpus")] == ["w:bishop#0", "w:surgeon#0"]
    judged = {(row["query-id"], row["corpus-id"], row["score"]) for row in load("default")}
    assert judged == {("q-surgeon", "w:surgeon#0", 1), ("q-bishop", "w:bishop#0", 1)}
    assert load("sets")[0]["pages"] == [["w:surgeon"], ["w:bishop"]]


@pytest.mark.slow
def test_folders_of_one_name_are_not_taken_for_each_other(bells: Benchmark, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    fewer = save_benchmark(
        tmp_path / "fewer", name="bells", queries=bells.queries[:1], passages=bells.passage_records()
    )
    counts = []
    for place, benchmark in (("one", bells), ("two", fewer)):
        export(str(benchmark.folder.root), tmp_path / place / "hf", "hf")
        opened = datasets.load_dataset(
            str(tmp_path / place / "hf"), "queries", split="test", cache_dir=str(tmp_path / "cache")
        )
        counts.append(len(opened))
    assert counts == [2, 1]


@pytest.mark.slow
def test_mteb_evaluates_the_task(bells: Benchmark, tmp_path: Path) -> None:
    mteb = pytest.importorskip("mteb")
    export(str(bells.folder.root), tmp_path / "task", "mteb")
    spec = importlib.util.spec_from_file_location("task", tmp_path / "task" / "task.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mteb.get_model("mteb/baseline-bm25s")
        found = mteb.evaluate(model, tasks=[module.Bells()], cache=None, show_progress_bar=False)
    assert found.task_results[0].get_score() == pytest.approx(1.0)
    (scores,) = found.task_results[0].scores["test"]
    tie_aware = ("page_acc_at_1", "page_acc_at_5", "confused_at_20", "tied_first_places")
    assert [scores[name] for name in tie_aware] == [1.0, 1.0, 0.0, 0.0]


class SameForAll:
    """A model of mteb for which every text is alike: all passages share the first place."""

    def encode(self, inputs: Any, **_: Any) -> Any:
        import numpy as np

        return np.ones((sum(len(batch["text"]) for batch in inputs), 2), dtype=np.float32)

    def similarity(self, a: Any, b: Any) -> Any:
        import torch

        return torch.as_tensor(a) @ torch.as_tensor(b).T

    similarity_pairwise = similarity

    @property
    def mteb_model_meta(self) -> Any:
        from mteb.models.model_meta import ModelMeta

        return ModelMeta.create_empty({"name": "same/for-all", "revision": "1"})


def test_ties_in_mteb_count_by_how_probable_an_order_is(bells: Benchmark, tmp_path: Path) -> None:
    """mteb's own figure depends on which of two equal passages it lists first; ours is what chance gives."""
    mteb = pytest.importorskip("mteb")
    export(str(bells.folder.root), tmp_path / "task", "mteb")
    task = runpy.run_path(str(tmp_path / "task" / "task.py"))["Bells"]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mteb.evaluate(SameForAll(), tasks=[task], cache=None, show_progress_bar=False)
    (scores,) = found.task_results[0].scores["test"]
    assert scores["hit_rate_at_1"] in (0.0, 0.5, 1.0)
    assert scores["page_acc_at_1"] == scores["confused_at_20"] == 0.5
    assert scores["page_acc_at_5"] == scores["tied_first_places"] == 1.0


def test_expectations_over_ties() -> None:
    """By hand: of four pages that share places 2 to 5, one is gold and two are namesakes'."""
    scores = {"a#0": 3.0, "a#1": 2.0, "g#0": 2.0, "n#0": 2.0, "m#0": 2.0, "x#0": 2.0}
    pages = {passage: passage[0] for passage in scores}
    groups = [group for _, group in tied_groups(scores, pages)]
    assert groups == [{"a"}, {"g", "n", "m", "x"}]
    assert expected_accuracy(groups, {"g"}, 1) == 0.0
    assert expected_accuracy(groups, {"g"}, 2) == pytest.approx(1 / 4)
    assert expected_accuracy(groups, {"g"}, 5) == 1.0
    assert expected_confusion(groups, {"g"}, {"n", "m"}, 20) == pytest.approx(2 / 3)
    assert expected_confusion(groups, {"g"}, {"n", "m"}, 2) == pytest.approx(3 / 4 * 2 / 3)
    assert expected_confusion(groups, {"a"}, {"n"}, 20) == 0.0


def test_without_ties_the_expectation_is_what_whichone_scores(tmp_path: Path) -> None:
    benchmark = Benchmark.open("builtin/amber")
    run = retrieve("builtin/amber", tmp_path / "run", retriever="bm25", k=20)
    results: dict[str, dict[str, float]] = {}
    for row in run.rankings.select(["question", "passage", "rank"]).to_pylist():
        results.setdefault(row["question"], {})[row["passage"]] = -row["rank"]
    gold = {q.id: q.gold_pages() for q in benchmark.queries}
    others = {q.id: benchmark.other_pages(q) for q in benchmark.queries}
    pages = {p: page_of(p) for ranked in results.values() for p in ranked}
    found = tie_aware_scores(results, pages, gold, others)
    own = score_run(run, benchmark, parse_measures(("acc@1", "acc@5", "confused@20")))
    for name, measure in (
        ("page_acc_at_1", "acc@1"),
        ("page_acc_at_5", "acc@5"),
        ("confused_at_20", "confused@20"),
    ):
        assert found[name] == pytest.approx(float(np.nanmean(own.values[measure])))


def test_a_task_needs_a_corpus_with_gold(bells: Benchmark, tmp_path: Path) -> None:
    bare = save_benchmark(tmp_path / "bare", name="bare", queries=bells.queries, passages=[])
    with pytest.raises(UsageError, match="no corpus with gold"):
        export(str(bare.folder.root), tmp_path / "out", "mteb")
    assert "corpus/test.parquet" not in export(str(bare.folder.root), tmp_path / "hf", "hf")
