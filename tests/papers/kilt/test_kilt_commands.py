"""KILT's commands as typed: import, show, export, runs of others, datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from whichone.cli import whichone
from whichone.errors import BadInput, UsageError


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(whichone, [str(word) for word in words])


def told(*words: str | Path) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "nq-dev-kilt.jsonl"
    records = [
        {"id": n, "input": f"q{n}", "output": [{"answer": "a", "provenance": [{"wikipedia_id": n}]}]}
        for n in (1, 2)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_import_show_export(file: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    assert told("import", "kilt", file, bench, "--dry-run")["queries"] == 2
    assert not bench.exists()
    assert told("import", "kilt", file, bench)["benchmark"].startswith("nq-")
    assert told("show", bench)["kilt"]["table_6"][0]["dataset"] == "NQ"
    assert told("export", bench, tmp_path / "out", "--format", "kilt") == {file.name: 2}
    back = (tmp_path / "out" / file.name).read_text().splitlines()
    assert [json.loads(line) for line in back] == [json.loads(line) for line in file.read_text().splitlines()]


def test_runs_of_others(file: Path, tmp_path: Path) -> None:
    bench, guess = tmp_path / "bench", tmp_path / "guess.jsonl"
    told("import", "kilt", file, bench)
    guess.write_text(
        "".join(
            json.dumps({"id": n, "output": [{"provenance": [{"wikipedia_id": 1}]}]}) + "\n" for n in (1, 2)
        )
    )
    words = ("--benchmark", bench, "--format", "kilt")
    assert told("import", "run", guess, tmp_path / "run", *words)["questions"] == 2
    (row,) = told("score", tmp_path / "run", "--measures", "rprec")
    assert row["rprec"]["value"] == 0.5
    assert told("export", tmp_path / "run", tmp_path / "run.txt", "--format", "trec") == {
        "run.txt": 2,
        "run.qrels.pages.txt": 2,
    }
    guess.write_text('{"id": 9, "output": []}\n')
    wrong = run("import", "run", guess, tmp_path / "wrong", *words)
    assert isinstance(wrong.exception, BadInput)
    assert f"{guess}:1" in str(wrong.exception)


def test_what_makes_no_sense(file: Path, tmp_path: Path) -> None:
    other = run("import", "kilt", file, tmp_path / "b", "--dataset", "fever")
    assert isinstance(other.exception, UsageError)
    told("import", "kilt", file, tmp_path / "bench")
    unknown = run("export", tmp_path / "bench", tmp_path / "o", "--format", "klit")
    assert isinstance(unknown.exception, UsageError)
    assert "kilt" in str(unknown.exception)


def test_list_datasets() -> None:
    rows = {row["name"]: row for row in told("list", "datasets")}
    assert rows["kilt/hotpotqa-dev"]["licence"] == "CC BY-SA 4.0"
    assert "KILT" in rows["kilt/hotpotqa-dev"]["citation"]
    assert "not verified" in run("list", "datasets").stdout
