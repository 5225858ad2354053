"""`whichone score ambigdocs` as a person types it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_json_lines


def score(*arguments: object) -> Result:
    return CliRunner().invoke(whichone, ["score", "ambigdocs", *map(str, arguments)], catch_exceptions=True)


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    def row(qid: str, name: str, answer: str | None) -> dict[str, Any]:
        documents = [
            {"title": f"{name} (film)", "text": "a film", "pid": "1", "answer": "Ann Lee"},
            {"title": f"{name} (novel)", "text": "a novel", "pid": "2", "answer": "Bob Ray"},
        ]
        return {
            "qid": qid,
            "ambiguous_entity": name,
            "question": f"Who wrote {name}?",
            "documents": documents,
            "docs": documents,
            "gen_answer": answer,
            "span_predictions": ["Ann", "Bob Ray"],
        }

    rows = [
        row("1_a", "Foo", "The film is by Ann Lee, the novel by Bob Ray."),
        row("2", "Foo", "The film is by Ann Lee."),
        row("3", "Bar", "Lee."),
        row("4", "Baz", None),
    ]
    path = tmp_path / "predictions.json"
    path.write_bytes(msgspec.json.encode(rows))
    return path


def test_json(predictions: Path) -> None:
    result = score(predictions, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["scored"] == 4
    shares = {name: row["value"] for name, row in found["categories"].items()}
    assert shares == {"complete": 0.25, "partial": 0.25, "ambiguous": 0.25, "merged": 0.0, "no answer": 0.25}
    recall = found["measures"]["answer_recall"]
    assert recall["value"] == pytest.approx((1 + 0.5 + 0.25 + 0) / 4)
    assert (recall["low"], recall["clusters"]) == (None, 3)
    assert found["measures"]["disambig_f1"]["value"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["notes"]["empty_answers"] == 1


def test_per_query_lines(predictions: Path, tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    assert score(predictions, "--per-query", out).exit_code == 0
    lines = [row for _, row in read_json_lines(out)]
    assert [(row["qid"], row["category"]) for row in lines] == [
        ("1_a", "complete"),
        ("2", "partial"),
        ("3", "ambiguous"),
        ("4", "no answer"),
    ]
    assert lines[1]["answer_recall"] == lines[1]["entity_recall"] == 0.5
    assert [b["mention"] for b in lines[1]["bearers"]] == ["paired", "absent"]


def test_tables_for_people(predictions: Path) -> None:
    result = score(predictions, "--validity", "--semantic", "trigrams")
    assert result.exit_code == 0, result.output
    for word in ("answer_recall", "ambiguous", "2 tokens", "semantic_only", "empty_answers"):
        assert word in result.stdout


def test_agreement_with_people(predictions: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("qid,category\n1_a,complete\n2,complete\n4,no answer\n")
    found = json.loads(score(predictions, "--people", labels, "--json").stdout)["agreement"]
    assert found["kappa"]["value"] == pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3))
    assert "kappa value" in score(predictions, "--people", labels).stdout


def test_several_files_and_a_page(predictions: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny--few-shot.json"
    other.write_bytes(predictions.read_bytes())
    page = tmp_path / "page.html"
    found = json.loads(score(predictions, other, "--report", page, "--json").stdout)
    assert set(found) == {str(predictions), str(other)}
    assert "Answers: tiny, few-shot" in page.read_text()
    lines = score(predictions, other, "--per-query", tmp_path / "x.jsonl")
    assert isinstance(lines.exception, UsageError)


def test_published_numbers_of_the_golden_examples(shared: Path, tmp_path: Path) -> None:
    examples = [row for _, row in read_json_lines(shared / "golden/ambigdocs/examples.jsonl")]
    rows = [{**e["example"], "span_predictions": e["span_predictions"]} for e in examples]
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(rows))
    found = json.loads(score(path, "--rules", "published", "--json").stdout)
    expected = [0] * 5
    for example in examples:
        expected[example["expect"]["category"]] += 1
    assert [row["count"] for row in found["categories"].values()] == expected
    precision = sum(e["expect"]["kp"] for e in examples) / len(examples)
    assert found["published"]["KP"] == round(precision, 3)
    assert set(found["published"]) == {"R", "Entity", "EWR", "KP", "DF1"}


def test_questions_answered_twice_are_refused_but_published(tmp_path: Path) -> None:
    row = {"qid": "1", "ambiguous_entity": "A", "question": "?", "documents": [], "gen_answer": "x"}
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode([row, row]))
    refused = score(path)
    assert isinstance(refused.exception, BadInput)
    assert "answered twice" in str(refused.exception)
    published = json.loads(score(path, "--rules", "published", "--json").stdout)
    assert published["notes"]["without_documents"] == ["1", "1"]
    assert published["scored"] == 0


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("[]")
    assert isinstance(score(path).exception, BadInput)
