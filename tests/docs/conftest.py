"""The inputs of the documented commands, prepared once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from few_names import few_names as save_few_names
from finished_demo import finished_demo
from once import built_once
from stage import build_stage

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.by_name import builtin_benchmark


@pytest.fixture(scope="session")
def few_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `WHICHONE_CACHE` whose `builtin/amber` asks about every third name: commands take the same way in a third of the time."""
    return built_once(tmp_path_factory, "few-names", _build_few)


def _build_few(place: Path) -> None:
    amber = builtin_benchmark("builtin/amber")
    built = place / "builtin" / amber.parent.name
    shutil.copytree(amber.parent / "kb", built / "kb")
    save_few_names(Benchmark.open("builtin/amber"), built / amber.name, 3)


@pytest.fixture(scope="session")
def stage(few_names: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHONE_CACHE", str(few_names))
        return built_once(tmp_path_factory, "stage", build_stage)


@pytest.fixture(scope="session")
def made_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `whichone demo` has made: a page that begins with that command finds it there."""
    return finished_demo(tmp_path_factory) / "out"
