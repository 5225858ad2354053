"""What is in a run's identity beside its options, and which questions a limit draws."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.runs.provenance import drawn, identified, model_hash, plugin_of
from whichone.runs.retrieve import as_retriever
from whichone.runs.run import sees
from whichone.runs.runner import run_retriever


def test_own_systems_are_no_plugins() -> None:
    from whichone.retrieval.baselines import Popular

    assert plugin_of(Popular) == {}
    assert plugin_of(lambda text, k: []) == {}


def test_a_package_has_a_version() -> None:
    """pytest appears in for a plugin: a class of an installed package."""
    found = plugin_of(pytest.MonkeyPatch())
    assert found["package"] == "pytest"
    assert found["version"] == pytest.__version__


def test_weights_of_a_local_folder(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    described = {"retriever": "x", "options": {"model": str(model)}}
    assert "model_hashes" not in identified(None, described)
    (model / "model.safetensors").write_bytes(b"one")
    first = identified(None, described)["model_hashes"]
    assert first == {"options.model": model_hash(model)}
    (model / "model.safetensors").write_bytes(b"two")
    assert identified(None, described)["model_hashes"] != first
    told = {"encoder": str(model), "weights": "abc"}
    assert "model_hashes" not in identified(None, told)


def test_an_empty_option_is_not_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    monkeypatch.chdir(tmp_path)
    assert identified(object(), {"evidence": ""}) == {"evidence": ""}


def test_a_run_with_other_weights_is_another_run(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    benchmark = Benchmark.open("builtin/amber")
    made = []
    for weights in (b"one", b"two"):
        model.write_bytes(weights)
        system = as_retriever(lambda text, k: [])
        description = {"retriever": "x", "model": str(model), "sees": ["corpus"]}
        run = run_retriever(
            system, benchmark, tmp_path / weights.decode(), k=1, name="x", description=description
        )
        made.append(run.folder.manifest.parameters["model_hashes"])
        assert sees(run.folder) == ("corpus",)
    assert made[0] != made[1]


def test_a_limit_draws_names_with_all_their_tasks() -> None:
    queries = Benchmark.open("builtin/amber").queries
    chosen = drawn(queries, 100)
    assert len(chosen) == 100
    assert chosen != drawn(queries, 100, seed=1)
    tasks = Counter(q.task for q in queries if q.id in chosen)
    assert set(tasks) == {"qa", "sf", "fc"}
    names = Counter(q.name_set for q in queries)
    whole = [n for n in names if all(q.id in chosen for q in queries if q.name_set == n)]
    touched = {q.name_set for q in queries if q.id in chosen}
    assert len(touched) - len(whole) <= 1
    assert drawn(queries, 10**6) == {q.id for q in queries}
