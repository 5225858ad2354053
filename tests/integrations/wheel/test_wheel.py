"""The wheel: built, installed into an empty environment, and the demo run from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=900,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.mark.slow
def test_the_wheel_runs_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    pytest.importorskip("build")
    run(
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        tmp_path / "dist",
        ROOT,
        cwd=tmp_path,
    )
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    assert wheel.stat().st_size < 5_000_000
    assert sdist.stat().st_size < 20_000_000
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    done = run(
        tmp_path / "env" / "bin" / "whichone",
        "demo",
        "--json",
        cwd=tmp_path,
        PYTHONPATH="",
        WHICHONE_CACHE=str(tmp_path / "cache"),
    )
    document = json.loads(done.stdout)
    assert document["retrievers"]["popular"]["human"]["qa"]["tail"]["value"] == 0
    assert (tmp_path / "whichone-demo" / "report.html").exists()
