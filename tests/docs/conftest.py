"""The inputs of the documented commands, prepared once."""

from __future__ import annotations

from pathlib import Path

import pytest
from finished_demo import finished_demo
from once import built_once
from stage import build_stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "stage", build_stage)


@pytest.fixture(scope="session")
def made_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `whichone demo` has made: a page that begins with that command finds it there."""
    return finished_demo(tmp_path_factory) / "out"
