"""Stopped at every write, flush and rename of a commit in turn: no folder is lost or half accepted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("stopping.py")
KINDS = ("plain", "replaced", "benchmark", "run", "answers")


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_at_any_step_loses_nothing(kind: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), kind, str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"stopped at each of (\d+) steps", done.stdout)
    assert found is not None
    assert int(found[1]) >= 8, done.stdout
