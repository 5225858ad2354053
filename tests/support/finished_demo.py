"""One whole `whichone demo` for all tests that need what it makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from once import built_once


def demo(
    *words: str, folder: Path | None = None, command: tuple[str, ...] = (sys.executable, "-m", "whichone")
) -> subprocess.Popen[str]:
    command = (*command, "demo", *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def finished_demo(factory: pytest.TempPathFactory) -> Path:
    """`out`, as it was made, and `printed.json`, what `--json` printed."""
    return built_once(factory, "demo", _make)


def _make(place: Path) -> None:
    place.mkdir()
    process = demo(str(place / "out"), "--json")
    printed, talked = process.communicate(timeout=580)
    assert process.returncode == 0, talked
    (place / "printed.json").write_text(printed)
