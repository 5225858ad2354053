"""The distribution: built, checked as an index does, and installed into empty environments, where it runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from whichone import __version__

ROOT = Path(__file__).resolve().parents[3]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, **environment}, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT, cwd=place)
    (wheel,) = place.glob("*.whl")
    (sdist,) = place.glob("*.tar.gz")
    assert wheel.stat().st_size < 10_000_000
    assert sdist.stat().st_size < 40_000_000
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, cwd=place)
    return wheel


def installed(wheel: Path, place: Path, python: str) -> Path:
    """The `whichone` of an environment that has the wheel and what it needs, and nothing else."""
    run(python, "-m", "venv", place / "env", cwd=place)
    pip = place / "env" / "bin" / "python"
    run(pip, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, cwd=place)
    return place / "env" / "bin" / "whichone"


def pythons(version: str) -> Iterator[str]:
    """Of the path, where a version manager's shim may only say that another version is chosen, and beside this one."""
    found = [shutil.which(f"python{version}")]
    found += [str(p) for p in Path(sys.base_prefix).parent.glob(f"*{version}*/bin/python{version}")]
    for python in found:
        if python and not subprocess.run([python, "-c", "import venv"], capture_output=True).returncode:
            yield python


@pytest.mark.slow
def test_the_demo_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    whichone = installed(wheel, tmp_path, sys.executable)
    cache = str(tmp_path / "cache")
    printed = run(whichone, "demo", "--json", cwd=tmp_path, PYTHONPATH="", WHICHONE_CACHE=cache)
    document = json.loads(printed)
    assert document["retrievers"]["popular"]["human"]["qa"]["tail"]["value"] == 0
    assert (tmp_path / "whichone-demo" / "report.html").exists()
    # an extra of what is installed, as docs/install.md and error messages say, comes without an index that has whichone
    run(whichone.with_name("python"), "-m", "pip", "install", "-q", "whichone[llm]", cwd=tmp_path)
    run(whichone.with_name("python"), "-c", "import httpx", cwd=tmp_path, PYTHONPATH="")


@pytest.mark.slow
def test_it_runs_from_a_clone_without_being_installed(tmp_path: Path) -> None:
    """As docs/install.md says."""
    uvx = Path(sys.executable).with_name("uvx")
    printed = run(uvx, "--python", sys.executable, "--from", ROOT, "whichone", "--version", cwd=tmp_path)
    assert printed.split()[-1] == __version__


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_another_python_asks_and_scores(wheel: Path, tmp_path: Path, version: str) -> None:
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip("the demo runs on this one")
    python = next(pythons(version), None)
    if python is None:
        pytest.skip(f"python{version} is not installed")
    whichone = installed(wheel, tmp_path, python)
    there = {"PYTHONPATH": "", "WHICHONE_CACHE": str(tmp_path / "cache")}
    words = ("retrieve", "builtin/amber", "RUN", "--retriever", "bm25")
    run(whichone, *words, cwd=tmp_path, **there)
    printed = run(whichone, "score", "RUN", "--measures", "acc@20", "--json", cwd=tmp_path, **there)
    assert "acc@20" in printed
