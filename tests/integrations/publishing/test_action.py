"""The GitHub Action: its steps as a runner would run them, with a search that is good and one that is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from whichone.benchmarks.benchmark import Benchmark

ACTION = Path(__file__).parents[3] / "action.yml"
SEARCH = """
from whichone import Corpus

def good(text, k):
    return ["w:surgeon#0" if "surgeon" in text else "w:bishop#0"]

def popular(text, k):
    return ["w:surgeon#0"]
"""


def step(name: str, inputs: dict[str, str], place: Path, **around: str) -> tuple[int, str]:
    """Runs a step, with the inputs filled into its environment."""
    action = yaml.safe_load(ACTION.read_text())
    assert set(inputs) <= set(action["inputs"])
    values = {name: str(i.get("default", "")) for name, i in action["inputs"].items()} | inputs
    (found,) = [s for s in action["runs"]["steps"] if s.get("id") == name]

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text)

    environment = {
        **os.environ,
        **{name: filled(text) for name, text in found["env"].items()},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        **around,
        "GITHUB_OUTPUT": str(place / "output"),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("search", "code"), [("good", 0), ("popular", 1)])
def test_a_search_passes_or_fails(search: str, code: int, bells: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SEARCH)
    inputs = {
        "benchmark": str(bells.folder.root),
        "retriever": f"mine:{search}",
        "check": "--no-floor --min-accuracy 0.9 --strict" if code else "--no-floor",
    }
    ended, said = step("check", inputs, tmp_path)
    assert ended == code, said
    assert (tmp_path / "output").read_text() == f"run={tmp_path / 'whichone-run'}\n"
    assert (tmp_path / "summary.md").exists()


def test_it_installs_the_whichone_of_its_own_folder_and_what_is_asked(tmp_path: Path) -> None:
    """No index has to have whichone: pip is given the folder that the action is in."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(
        '#!/bin/sh\necho "$@" >> installed.txt\n'
    )  # a runner's python is not this test's to change
    python.chmod(0o755)
    around = {"GITHUB_ACTION_PATH": str(ACTION.parent), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    for asked in ("", "-r requirements.txt"):
        ended, said = step("install", {"retriever": "mine:good", "install": asked}, tmp_path, **around)
        assert ended == 0, said
    own = f"-m pip install --quiet {ACTION.parent}"
    others = "-m pip install --quiet -r requirements.txt"
    assert (tmp_path / "installed.txt").read_text().splitlines() == [own, own, others]
