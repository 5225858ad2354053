"""A benchmark as a Hugging Face folder and as a task of mteb, opened by the real libraries."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import UsageError
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.report.export import export


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
    return save_benchmark(
        tmp_path / "bells", name="bells", queries=queries, passages=passages, sets=sets
    )


@pytest.mark.slow
def test_datasets_opens_the_folder(bells: Benchmark, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    written = export(str(bells.folder.root), tmp_path / "hf", "hf")
    assert written["queries/test.parquet"] == 2

    def load(name: str) -> list[dict[str, Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            place = str(tmp_path / "cache")
            return list(
                datasets.load_dataset(str(tmp_path / "hf"), name, split="test", cache_dir=place)
            )

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
        tmp_path / "fewer",
        name="bells",
        queries=bells.queries[:1],
        passages=bells.passage_records(),
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


def test_a_task_needs_a_corpus_with_gold(bells: Benchmark, tmp_path: Path) -> None:
    bare = save_benchmark(tmp_path / "bare", name="bare", queries=bells.queries, passages=[])
    with pytest.raises(UsageError, match="no corpus with gold"):
        export(str(bare.folder.root), tmp_path / "out", "mteb")
    assert "corpus/test.parquet" not in export(str(bare.folder.root), tmp_path / "hf", "hf")
