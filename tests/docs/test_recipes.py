"""The recipes of CONTRIBUTING.md, followed to the letter: files written, lines added, installed, run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPLETE = ("A measure", "A retriever", "A reader", "A benchmark or a paper")
_STEP = re.compile(r"^\d+\. `([^`]+)`", re.M)
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```", re.S | re.M)


def recipe(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def files_of(text: str) -> dict[str, str]:
    """By path, the block that belongs to the step that names it."""
    files = {}
    for block in _BLOCK.finditer(text):
        steps = [step for step in _STEP.finditer(text) if step.start() < block.start()]
        if block[2] != "sh":
            files[steps[-1][1]] = textwrap.dedent(block[3])
    return files


def commands_of(text: str) -> str:
    return next(block[3] for block in _BLOCK.finditer(text) if block[2] == "sh")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the project with all recipes followed, and the folder it is installed in."""
    folder = tmp_path_factory.mktemp("recipes")
    project, site = folder / "project", folder / "site"
    for name in ("src", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        project.mkdir(exist_ok=True)
        copy(ROOT / name, project / name)
    for title in COMPLETE:
        for path, content in files_of(recipe(title)).items():
            file = project / path
            if path == "pyproject.toml":
                header, _, line = content.partition("\n")
                present = file.read_text("utf-8")
                assert f"{header}\n" in present
                file.write_text(present.replace(f"{header}\n", f"{header}\n{line}"), "utf-8")
            else:
                assert not (ROOT / path).exists()
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content, "utf-8")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(project)], check=True, timeout=300)
    return project, site


def run(command: list[str], installed: tuple[Path, Path], folder: Path) -> str:
    _, site = installed
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "PATH": f"{site / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("title", COMPLETE)
def test_the_commands_of_a_recipe_run(title: str, installed: tuple[Path, Path], tmp_path: Path) -> None:
    commands = commands_of(recipe(title))
    assert run(["bash", "-euo", "pipefail", "-c", commands], installed, tmp_path)


@pytest.mark.slow
def test_the_tests_of_the_recipes_pass(installed: tuple[Path, Path], tmp_path: Path) -> None:
    project, _ = installed
    tests = [
        str(project / path)
        for title in COMPLETE
        for path in files_of(recipe(title))
        if path.startswith("tests/")
    ]
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    printed = run([*pytest_command, "--rootdir", str(tmp_path), *tests], installed, tmp_path)
    assert f"{len(tests)} passed" in printed
