"""`whichone score kilt` as a person types it."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whichone.cli import whichone
from whichone.errors import GateFailed, UsageError
from whichone.papers.kilt.scores.headline import METRIC


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, guess = tmp_path / "nq-dev-kilt.jsonl", tmp_path / "guess.jsonl"
    provenance = [{"wikipedia_id": "1", "title": "T", "section": "A"}]
    gold.write_text(
        json.dumps({"id": "a", "input": "q", "output": [{"answer": "x", "provenance": provenance}]})
    )
    entries = [{"wikipedia_id": "2", "score": 1}, {"wikipedia_id": "1", "section": "A", "score": 2}]
    guess.write_text(json.dumps({"id": "a", "output": [{"answer": "X", "provenance": entries}]}))
    return gold, guess


def score(*arguments: object) -> Result:
    return CliRunner().invoke(whichone, ["score", "kilt", *map(str, arguments)])


def test_json_holds_the_three_parts_and_marks_the_headline(files: tuple[Path, Path]) -> None:
    result = score(*files, "--json", "--ks", "1,2")
    document = json.loads(result.stdout)
    assert list(document)[:3] == ["downstream", "kilt", "retrieval"]
    assert document["downstream"] == {"accuracy": 0.0, "em": 1.0, "f1": 1.0, "rougel": 0.0}
    assert document["retrieval"]["recall@2"] == 1.0
    assert document["headline"]["downstream"] == "em"
    assert document["warnings"][0]["code"] == "ascending_scores"
    assert "ascending" in result.stderr


def test_rank_keys_and_one_part(files: tuple[Path, Path]) -> None:
    keys = "wikipedia_id,section"
    document = json.loads(
        score(*files, "--json", "--rank-keys", keys, "--only", "retrieval").stdout
    )
    assert document["retrieval"]["Rprec"] == 1.0  # the entry without a section is passed over
    assert document["downstream"] is None


def test_the_table_names_the_papers_metric(files: tuple[Path, Path]) -> None:
    result = score(*files, "--dataset", "eli5")
    marked = [line for line in result.stdout.splitlines() if "the paper's" in line]
    assert [line.split()[1] for line in marked] == ["rougel", "KILT-rougel", "Rprec"]


def test_per_query_rows(files: tuple[Path, Path], tmp_path: Path) -> None:
    score(*files, "--per-query", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["id"] == "a" and row["em"] == "1.0" and row["recall@1"] == "0.0"


def test_check_fails_on_a_finding_and_only_then(files: tuple[Path, Path]) -> None:
    result = score(*files, "--check", "--json")
    assert isinstance(result.exception, GateFailed)
    assert [w["code"] for w in json.loads(result.stdout)["warnings"]] == ["ascending_scores"]
    gold, guess = files
    guess.write_text(guess.read_text().replace('"score"', '"rank"'))
    result = score(gold, guess, "--check")
    assert result.exception is None and "nothing odd" in result.stderr


def test_wrong_use(files: tuple[Path, Path]) -> None:
    assert score(*files, "-k", "0").exit_code == 2
    assert isinstance(score(*files, "--rank-keys", ",").exception, UsageError)
    error = score(*files, "--dataset", "eli6").exception
    assert isinstance(error, UsageError) and "eli5" in str(error)


def test_every_dataset_of_the_paper_has_its_metric() -> None:
    assert len(METRIC) == 11


def test_skipped_records_are_listed(files: tuple[Path, Path]) -> None:
    gold, guess = files
    guess.write_text(guess.read_text() + "\n\n")
    result = score(gold, guess, "--json", "--on-error", "skip")
    skipped = json.loads(result.stdout)["skipped"]
    assert skipped["count"] == 1
    assert skipped["records"][0]["line"] == 2 and "blank" in skipped["records"][0]["reason"]
    assert f"{guess}:2: a blank line" in result.stderr
