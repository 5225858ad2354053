"""docs/papers.md: every table and figure of the papers has a row, and its command makes its file."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_docs import ROOT

from whichone.cli import whichone

sys.path.append(str(ROOT / "docs"))
from reference_hook import FOLDED, folded

PAGE = ROOT / "docs" / "papers.md"
NUMBERED = {"AmbER sets": (10, 4), "EntityQuestions": (8, 2), "KILT": (17, 5)}
"""How many tables and figures each paper has."""
BESIDE = "Systems beside their originals"
"""The section whose table lists systems, not tables of a paper."""
NOT_RUN = {
    "experiment": "trainings; tests/training/test_published_experiments.py runs all of them on a tiny encoder",
    "train space": "an encoder; tests/training/test_space.py has one",
}
ROW = re.compile(r"^\| (?P<what>[^|]+) \| `(?P<command>whichone [^|]+)` \|(?P<file>[^|]*)\|", re.M)


def sections() -> dict[str, str]:
    """Each section as the site shows it, with the tables that are files of their own."""
    parts = re.split(r"^## (.+)$", FOLDED.sub(folded, PAGE.read_text("utf-8")), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows() -> list[tuple[str, str, str, str]]:
    return [
        (paper, found["what"].strip(), found["command"], found["file"].strip().strip("`"))
        for paper, text in sections().items()
        for found in ROW.finditer(text)
    ]


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_number_has_a_row(paper: str) -> None:
    listed = [what.partition(",")[0] for name, what, _, _ in rows() if name == paper]
    tables, figures = NUMBERED[paper]
    wanted = [f"Table {n}" for n in range(1, tables + 1)]
    wanted += [f"Figure {n}" for n in range(1, figures + 1)]
    assert [name for name in listed if name in wanted] == wanted
    assert "Where we differ on purpose" in sections()[paper]


def test_every_row_has_a_command() -> None:
    lines = [
        line
        for section, text in sections().items()
        if section != BESIDE
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith(("| in the paper", "| ---"))
    ]
    assert len(lines) == len(rows())


COMMANDS = {
    command: [(what, file) for _, what, other, file in rows() if other == command and file]
    for _, _, command, _ in rows()
    if not any(word in command for word in NOT_RUN)
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_its_command_makes_it(
    command: str, stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stage"
    shutil.copytree(stage, place)
    monkeypatch.chdir(place)
    before = files(place)
    (place / "mapped.jsonl").unlink()
    result = CliRunner().invoke(whichone, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, f"{command}\n{result.output}"
    made = {Path(path).stem for path in files(place) - before}
    missing = [(what, file) for what, file in COMMANDS[command] if file not in made]
    assert not missing, f"{command} makes {sorted(made)}"


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_what_is_not_run_is_named_with_its_reason() -> None:
    left = {command for _, _, command, _ in rows()} - set(COMMANDS)
    assert {next(word for word in NOT_RUN if word in command) for command in left} == set(NOT_RUN)
