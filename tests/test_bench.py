"""The programs in bench/ can still be started: what they import is there, and `--help` says what they take."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
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


WORKERS = """
import multiprocessing, time

def burn(seconds):
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass

if __name__ == "__main__":
    started = multiprocessing.get_context("forkserver")
    workers = [started.Process(target=burn, args=(0.4,)) for _ in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
"""


def test_workers_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are children of a process that the command leaves behind."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import measured

    (tmp_path / "workers.py").write_text(WORKERS)
    command = [sys.executable, str(tmp_path / "workers.py")]
    assert measured.measure(command).cpu > 0.8
    assert measured.timed(lambda: subprocess.run(command, check=True))[1] > 0.8
