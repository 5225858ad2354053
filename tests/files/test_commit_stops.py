"""Stopped at every write, flush and rename of a commit in turn: no folder is lost or half accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commit_kinds import KINDS

PROGRAM = Path(__file__).with_name("stopping.py")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """One process for all kinds: it imports everything once."""
    place = str(tmp_path_factory.mktemp("stops"))
    command = [sys.executable, "-W", "ignore", str(PROGRAM), place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        yield running
        assert running.stdin is not None
        running.stdin.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_at_any_step_loses_nothing(kind: str, program: subprocess.Popen[str]) -> None:
    if kind == "training":
        pytest.importorskip("torch")
    assert program.stdin is not None and program.stdout is not None
    program.stdin.write(f"{kind}\n")
    program.stdin.flush()
    found = json.loads(next(line for line in program.stdout if line.startswith('{"kind"')))
    assert "error" not in found, found
    assert found["steps"] >= 8, found
