"""A benchmark of two namesakes, and its release as a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.report.show import export

KINDS = {"surgeon": "head", "bishop": "tail"}


@pytest.fixture
def bells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    passages = [
        Passage(id=f"w:{k}#0", page=f"w:{k}", title=f"John Bell ({k})", text=f"John Bell was a {k}.")
        for k in KINDS
    ]
    queries = [
        Query(
            id=f"q-{k}", task="qa", input=f"Which John Bell was a {k}?", name="John Bell", name_set="s", role=role,
            outputs=(Output(answer=k, provenance=((Provenance(page=f"w:{k}"),),)),),
        )
        for k, role in KINDS.items()
    ]  # fmt: skip
    sets = [
        NameSet(
            id="s",
            name="John Bell",
            bearers=tuple(Bearer(entity=k, role=r, pages=(f"w:{k}",)) for k, r in KINDS.items()),
        )
    ]
    return save_benchmark(
        tmp_path / "bells", name="bells", queries=queries, passages=passages, sets=sets,
        card="# Bells\n\nTwo men of one name.",
        sources=[{"file": "bells.txt", "licence": "CC BY 4.0", "citation": "Bell. Bells. 1850."}],
    )  # fmt: skip


@pytest.fixture
def released(bells: Benchmark, tmp_path: Path) -> Path:
    export(str(bells.folder.root), tmp_path / "own" / "bells", "hf")
    return tmp_path / "own" / "bells"
