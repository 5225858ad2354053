"""The inputs of the documented commands, prepared once."""

from __future__ import annotations

from pathlib import Path

import pytest
from once import built_once
from stage import build_stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "stage", build_stage)
