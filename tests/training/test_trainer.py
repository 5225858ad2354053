"""What is the same for every training: where it runs, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whichone.errors import BadInput, UsageError
from whichone.training.examples import Example, Text
from whichone.training.trainer import LinkerOptions, Training, TrainingSettings


def test_a_linker_is_trained_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from whichone.training.train_linker import train_linker

    monkeypatch.setenv("WORLD_SIZE", "2")
    options = LinkerOptions(corpus=str(tmp_path), checkpoint=str(tmp_path))
    with pytest.raises(UsageError, match="one process"):
        train_linker(["links.jsonl"], tmp_path / "out", options, settings=TrainingSettings())


def test_each_process_needs_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing(Training[Example]):
        def save(self, folder: Path) -> None:
            raise NotImplementedError

    examples = [Example(id=str(n), question="?", positive=Text("", "a", "p")) for n in range(7)]
    given = {"device": "cpu", "identity": {}}
    made = Nothing(None, examples, [], tmp_path, TrainingSettings(batch=2), **given)
    assert (made.steps, made.updates) == (3, 3)
    monkeypatch.setenv("WORLD_SIZE", "2")
    made = Nothing(None, examples, [], tmp_path, TrainingSettings(batch=2), **given)
    assert (made.steps, made.updates) == (3, 1)
    with pytest.raises(BadInput, match="7 examples do not fill one batch of 4 for each of 2 processes"):
        Nothing(None, examples, [], tmp_path, TrainingSettings(batch=4), **given)


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
