"""`whichone score kilt` as a person types it."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import whichone as whichone_package
from whichone.cli import whichone
from whichone.errors import BadInput, GateFailed, UsageError


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, guess = tmp_path / "nq-dev-kilt.jsonl", tmp_path / "guess.jsonl"
    provenance = [{"wikipedia_id": "1", "title": "T", "section": "A"}]
    gold.write_text(
        json.dumps({"id": "a", "input": "q", "output": [{"answer": "x", "provenance": provenance}]})
    )
    entries = [{"wikipedia_id": "2", "score": 1}, {"wikipedia_id": "1", "section": "A", "score": 2}]
    guess.write_text(json.dumps({"id": "a", "output": [{"answer": "X", "provenance": entries}]}))
    return guess, gold


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
    document = json.loads(score(*files, "--json", "--rank-keys", keys, "--only", "retrieval").stdout)
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
    guess, gold = files
    guess.write_text(guess.read_text().replace('"score"', '"rank"'))
    result = score(guess, gold, "--check")
    assert result.exception is None and "nothing odd" in result.stderr


def test_wrong_use(files: tuple[Path, Path]) -> None:
    assert score(*files, "-k", "0").exit_code == 2
    assert isinstance(score(*files, "--rank-keys", ",").exception, UsageError)
    error = score(*files, "--dataset", "eli6").exception
    assert isinstance(error, UsageError) and "eli5" in str(error)


def test_skipped_records_are_listed(files: tuple[Path, Path]) -> None:
    guess, gold = files
    guess.write_text(guess.read_text() + "\n\n")
    result = score(guess, gold, "--json", "--on-error", "skip")
    skipped = json.loads(result.stdout)["skipped"]
    assert skipped["count"] == 1
    assert skipped["records"][0]["line"] == 2 and "blank" in skipped["records"][0]["reason"]
    assert f"{guess}:2: a blank line" in result.stderr


def test_named_files_and_swapped_ones(files: tuple[Path, Path]) -> None:
    guess, gold = files
    named = score("--gold", gold, "--guess", guess, "--json")
    assert json.loads(named.stdout) == json.loads(score(guess, gold, "--json").stdout)
    error = score(gold, guess).exception
    assert isinstance(error, UsageError) and error.exit_code == 2
    assert f"{gold} has input, titles of pages as gold has, {guess} has not" in error.message
    assert f"{guess} {gold}" in str(error.hint)
    warned = score("--gold", guess, "--guess", gold, "--on-error", "skip").stderr
    assert f"warning: the files look swapped: {gold} has input" in warned
    for wrong in ((guess,), (guess, gold, gold), ("--gold", gold), (guess, gold, "--gold", gold)):
        assert isinstance(score(*wrong).exception, UsageError), wrong


def test_gold_is_known_by_its_titles(tmp_path: Path) -> None:
    """Entity linking: one answer each, and gold without inputs."""
    records = [{"id": n, "output": [{"answer": "Her"}]} for n in range(3)]
    places = tmp_path / "gold.jsonl", tmp_path / "guess.jsonl"
    for place, entry in zip(
        places, ({"wikipedia_id": "5", "title": "Her"}, {"wikipedia_id": "7"}), strict=True
    ):
        output = {"answer": "Her", "provenance": [entry]}
        place.write_text("".join(json.dumps({**r, "output": [output]}) + "\n" for r in records))
    error = score(*places).exception
    assert isinstance(error, UsageError) and "has titles of pages as gold has" in error.message
    assert score(*places[::-1]).exit_code == 0


def test_from_python(files: tuple[Path, Path]) -> None:
    guess, gold = files
    document = whichone_package.score_kilt(guess, gold)
    assert document["downstream"]["em"] == 1.0 and document["headline"]["kilt"] == "KILT-em"
    records = [[json.loads(path.read_text())] for path in files]
    again = whichone_package.score_kilt(*records, dataset="nq")
    assert again == document
    with pytest.raises(UsageError, match="the records of guess has input"):
        whichone_package.score_kilt(*records[::-1])
    with pytest.raises(BadInput, match="no prediction") as error:
        whichone_package.score_kilt([], records[1])
    assert error.value.where == "the records of gold:1"


def predicted(record: dict[str, object]) -> dict[str, object]:
    entries = [{"wikipedia_id": "5"}, {"wikipedia_id": "7"}]
    return {"id": record["id"], "output": [{"answer": "Paris", "provenance": entries}]}


def test_the_released_files(shared: Path, tmp_path: Path) -> None:
    """Every released dev file scores, every test file can be checked, and no order is mixed up."""
    guess = tmp_path / "guess.jsonl"
    samples = sorted((shared / "data/kilt-samples").glob("*-kilt.jsonl"))
    assert len(samples) == 31
    for gold in samples:
        records = [json.loads(line) for line in gold.read_text("utf-8").splitlines()]
        guess.write_text("".join(json.dumps(predicted(r)) + "\n" for r in records))
        if "without_answers" in gold.name:
            result = score(guess, gold, "--check", "--json")
            assert result.exit_code == 0, (gold.name, result.output)
            assert json.loads(result.stdout)["records"]["gold"] == len(records)
            assert score(guess, gold).exit_code != 0
        else:
            document = json.loads(score(guess, gold, "--json", "--on-error", "skip").stdout)
            assert document["records"]["retrieval"] == len(records), gold.name
            has_input = "triviaqa" not in gold.name
            assert ("entity_in_input" in document["retrieval"]) == has_input, gold.name
        assert isinstance(score(gold, guess).exception, UsageError), gold.name


def test_a_test_file_shows_what_is_wrong_with_a_submission(tmp_path: Path) -> None:
    gold, guess = tmp_path / "nq-test_without_answers-kilt.jsonl", tmp_path / "guess.jsonl"
    gold.write_text("".join(json.dumps({"id": n, "input": "q"}) + "\n" for n in (1, 2)))
    several = {"id": 1, "output": [{"answer": "a"}, {"answer": "b"}]}
    guess.write_text("".join(json.dumps(r) + "\n" for r in (several, predicted({"id": 2}))))
    result = score(guess, gold, "--check", "--on-error", "skip", "--json")
    assert isinstance(result.exception, GateFailed)
    codes = [w["code"] for w in json.loads(result.stdout)["warnings"]]
    assert codes == ["several_outputs", "no_provenance"]
    guess.write_text(json.dumps(predicted({"id": 2})) + "\n")
    error = score(guess, gold, "--check").exception
    assert isinstance(error, BadInput) and "id 1" in str(error)
