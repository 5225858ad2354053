"""What is the same for every training: where it runs, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whichone.errors import UsageError
from whichone.training.trainer import begin


def test_one_of_several_processes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match="one process"):
        begin(tmp_path / "out", "cpu")


def test_without_torch_a_training_says_what_is_missing(tmp_path: Path) -> None:
    """Its module needs torch before a command could ask for it."""
    words = ["whichone", "train", "linker", "links.jsonl", "OUT", "--corpus", ".", "--checkpoint", "BERT"]
    code = (
        f"import sys; sys.modules['torch'] = None; sys.argv = {words!r}; from whichone.cli import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    problem, hint = (
        "needs a package that is not installed: torch",
        "whichone doctor says which extra brings it",
    )
    assert done.stderr == f"whichone: {problem}\n  {hint}\n"
    assert not (tmp_path / "OUT").exists()
