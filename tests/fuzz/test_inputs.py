"""No damage to any input ends in a traceback: seeded and bounded; `bench/fuzz.py` runs longer."""

from __future__ import annotations

import os
from pathlib import Path

import harness
import pytest
from click.testing import CliRunner
from harness import damaged
from seeds import Seed, prepare, seeds

from whichone.cli import whichone

EACH = 10


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    before = Path.cwd()
    os.chdir(folder)
    try:
        prepare(folder)
    finally:
        os.chdir(before)
    return folder


def test_every_seed_is_valid(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, seed in enumerate(seeds(place)):
        work = tmp_path / str(number)
        work.mkdir()
        for item in place.iterdir():
            (work / item.name).symlink_to(item)
        for name, data in seed.files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(data)
        monkeypatch.chdir(work)
        result = CliRunner().invoke(whichone, seed.words)
        if "is not installed" in str(result.exception):  # an extra that this environment has not
            continue
        code = getattr(result.exception, "exit_code", result.exit_code)  # what `whichone` itself makes of it
        assert code == seed.code, (seed.name, result.output[-500:], result.exception)


NAMES = (
    "questions jsonl", "questions json", "questions tsv", "passages jsonl", "passages csv", "beir",
    "open questions nq-open", "open questions webquestions", "open questions curatedtrec",
    "open questions dpr-csv", "kilt", "amber", "ambigdocs", "ramdocs", "entityquestions",
    "popqa tsv", "popqa jsonl", "run trec", "run kilt", "run dpr", "answers jsonl",
    "answers kilt", "score kilt", "score amber", "score entityquestions", "score popqa",
    "score ambigdocs", "wikidata", "pages xml", "pages kilt", "views", "catalogue", "map",
    "experiment", "audit records", "audit log", "documents", "hotpotqa", "eli5", "report", "check", "compare",
    "export beir", "export trec", "reproduce", "search", "search names",
    "benchmark folder", "run folder", "knowledge base folder", "verify", "power", "work", "serve",
    "build small", "build splits", "build catalogue", "wordings", "collection", "world", "train",
    "index folder",
)  # fmt: skip


def test_every_seed_is_fuzzed(place: Path) -> None:
    assert tuple(seed.name for seed in seeds(place)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_no_damage_ends_in_a_traceback(name: str, place: Path) -> None:
    seed: Seed = next(s for s in seeds(place) if s.name == name)
    problems = [(n, p) for n in range(EACH) if (p := damaged(seed, place, n)) is not None]
    assert problems == [], "\n".join(f"{n}: {p}" for n, p in problems)


def test_no_command_waits_for_a_pipe(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes to it: whoever opens it waits for ever."""
    monkeypatch.setattr(harness, "LONGEST", 30)
    monkeypatch.setattr("whichone.papers.kilt.evaluate._SILENCE", 0.2)
    waiting = []
    for number, seed in enumerate(seeds(place)):
        for name in seed.files:
            work = tmp_path / f"{number}-{name.replace('/', '-')}"
            work.mkdir()
            for item in place.iterdir():
                (work / item.name).symlink_to(item)
            for file, data in seed.files.items():
                (work / file).parent.mkdir(parents=True, exist_ok=True)
                if file == name:
                    os.mkfifo(work / file)
                else:
                    (work / file).write_bytes(data)
            if (problem := harness.ended(seed, work)) is not None:
                waiting.append(f"{name}: {problem}")
    assert waiting == []
