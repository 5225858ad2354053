"""A released folder in the tools that read it: Croissant's validator, datasets, inspect_ai, sha256sum."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import datasets
import inspect_ai
import mlcroissant
import pytest
import yaml
from inspect_ai._eval.task.hf import task_create_from_hf
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from whichone.benchmarks.benchmark import Benchmark
from whichone.report.show import export


def test_croissant_describes_every_file_and_table(released: Path) -> None:
    dataset = mlcroissant.Dataset(jsonld=str(released / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    rows = list(dataset.records("queries-test"))
    assert [row["queries-test/answer"] for row in rows] == [b"surgeon", b"bishop"]
    assert {len(list(dataset.records(name))) for name in ("corpus-test", "default-test")} == {2}


def test_a_file_that_was_changed_is_seen(released: Path) -> None:
    check = ["sha256sum", "-c", "SHA256SUMS"]
    assert subprocess.run(check, cwd=released, capture_output=True).returncode == 0
    (released / "eval.yaml").write_text("tasks: []\n")
    assert subprocess.run(check, cwd=released, capture_output=True).returncode == 1


def test_datasets_opens_the_folder(released: Path) -> None:
    queries = datasets.load_dataset(str(released), "queries", split="test")
    assert queries["answer"] == ["surgeon", "bishop"]
    assert len(datasets.load_dataset(str(released), "corpus", split="test")) == 2
    header = yaml.safe_load((released / "README.md").read_text().split("---\n")[1])
    assert header["license"] == "cc-by-4.0"
    assert header["language"] == ["en"]
    assert header["size_categories"] == ["n<1K"]


def answers() -> list[ModelOutput]:
    """What a model says: right once, and the other bearer's profession once."""
    made = [ModelOutput.from_content("mockllm/model", "He was a surgeon.") for _ in range(2)]
    for output in made:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made


def accuracy(task: object, logs: Path) -> float:
    model = get_model("mockllm/model", custom_outputs=answers())
    (log,) = inspect_ai.eval(task, model=model, display="none", log_dir=str(logs))
    assert log.status == "success", log.error
    return float(log.results.scores[0].metrics["accuracy"].value)


def test_inspect_runs_the_folder(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(released)
    assert accuracy("inspect_task.py", tmp_path / "logs") == 0.5


def test_inspect_reads_eval_yaml_as_from_a_hub(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder in the place where `huggingface_hub` keeps what it has downloaded."""
    kept = tmp_path / "hub" / "hub" / "datasets--own--bells"
    (kept / "snapshots" / "c0ffee").mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("c0ffee")
    (kept / "snapshots" / "c0ffee" / "eval.yaml").write_bytes((released / "eval.yaml").read_bytes())
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub" / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(released.parent.parent)  # "own/bells" is the folder too
    (task,) = task_create_from_hf("hf/own/bells")
    assert accuracy(task, tmp_path / "logs") == 0.5


def test_an_archive_with_a_citation(bells: Benchmark, tmp_path: Path) -> None:
    for name in ("bells.tar.gz", "again/bells.tar.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        export(str(bells.folder.root), tmp_path / name, "archive")
    assert (tmp_path / "bells.tar.gz").read_bytes() == (tmp_path / "again/bells.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "bells.tar.gz") as archive:
        file = archive.extractfile("bells/CITATION.cff")
        assert file is not None
        citation = yaml.safe_load(file.read())
    assert citation["type"] == "dataset"
    assert citation["license"] == "CC-BY-4.0"
    assert citation["title"] == "bells"
    assert citation["version"] == bells.id.rpartition("-")[2]
