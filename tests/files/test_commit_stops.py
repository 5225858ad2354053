"""Stopped at every write, flush and rename of a commit in turn: no folder is lost or half accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commit_kinds import KINDS

PROGRAM = Path(__file__).with_name("stopping.py")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of each kind, all from one process: it imports everything once."""
    place = str(tmp_path_factory.mktemp("stops"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), place, *KINDS],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0
    return {line["kind"]: line for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_at_any_step_loses_nothing(kind: str, stopped: dict[str, dict[str, Any]]) -> None:
    if kind == "training":
        pytest.importorskip("torch")
    assert "error" not in stopped[kind], stopped[kind]
    assert stopped[kind]["steps"] >= 8, stopped[kind]
