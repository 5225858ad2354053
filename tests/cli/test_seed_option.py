"""`--seed`: one below zero is refused in a sentence, wherever a generator would not take it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.cli import whichone


@pytest.mark.parametrize(
    "words",
    [
        ["train", "retriever", "builtin/entityquestions", "OUT", "--checkpoint", "nowhere"],
        ["build", "splits", "builtin/amber", "OUT"],
        ["world", "OUT"],
    ],
)
def test_a_seed_below_zero_is_refused(words: list[str], tmp_path: Path) -> None:
    told = [str(tmp_path / "out") if word == "OUT" else word for word in words]
    done = CliRunner().invoke(whichone, [*told, "--seed", "-1"])
    assert done.exit_code == 2
    assert "-1 is not in the range x>=0" in done.output
    assert not (tmp_path / "out").exists()
