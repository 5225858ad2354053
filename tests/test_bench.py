"""The programs in bench/ can still be started: what they import is there, and `--help` says what they take."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted(p for p in (ROOT / "bench").rglob("*.py") if "__main__" in p.read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the extras")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: str(p.relative_to(ROOT / "bench")))
def test_it_starts(program: Path, commands: Path) -> None:
    done = subprocess.run(
        [str(commands / "forked-python"), str(program), "--help"],
        capture_output=True, text=True, timeout=120, cwd=ROOT, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()
