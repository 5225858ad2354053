"""What is the same for every training: where it runs, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.errors import UsageError
from whichone.training.trainer import training_folder


def test_one_of_several_processes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match="one process"):
        training_folder(tmp_path / "out")
