"""The small snapshot that KILT tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_snapshot import write_snapshot


@pytest.fixture(scope="session")
def snapshot_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_snapshot(tmp_path_factory.mktemp("kilt") / "kb")
