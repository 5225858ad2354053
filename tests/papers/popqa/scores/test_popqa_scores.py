"""PopQA's scores, computed by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.errors import BadInput
from whichone.papers.popqa.commands import score_popqa_command
from whichone.papers.popqa.popqa import (
    AdaptiveOutcome,
    adaptive_retrieval,
    bin_edges,
    bin_of,
    correct,
    first_line,
    fit_threshold,
    judge,
    log_popularity,
    read_popqa_predictions,
    summary,
)
from whichone.records import Output, Query


@pytest.mark.parametrize(
    ("prediction", "expected"),
    [
        ("He is a jazz Musician.", True),
        ("a jazz musician", True),
        ("Jazz musician", True),
        ("JAZZ MUSICIAN", False),
        ("a musician", False),
    ],
)
def test_an_answer_counts_verbatim_lower_case_or_capitalised(prediction: str, expected: bool) -> None:
    assert correct(["jazz Musician"], prediction) is expected


def test_the_first_line_with_anything_on_it() -> None:
    assert first_line("\n\n politician\nor not") == " politician"
    assert first_line("") == ""


def test_logarithms_and_bins() -> None:
    assert log_popularity(None) is None
    assert log_popularity(-1) is None
    assert log_popularity(0) == -math.inf
    assert log_popularity(math.e) == pytest.approx(1.0)
    edges = bin_edges([-math.inf, 0.0, 10.0])
    assert edges == [float(n) for n in range(11)]
    assert [bin_of(v, edges) for v in (-math.inf, 0.0, 0.99, 1.0, 9.0, 10.0)] == [0, 0, 0, 1, 9, 9]
    assert bin_of(5.0, bin_edges([5.0, 5.0])) == 9
    assert bin_of(-math.inf, bin_edges([-math.inf])) == 0


def outcomes(relation: str, turn: int) -> list[AdaptiveOutcome]:
    """Log-popularity 0 to 10; retrieval right below `turn`, the bare model at and above it."""
    return [AdaptiveOutcome(relation, float(n), n < turn, n >= turn) for n in range(11)]


def test_the_threshold_is_where_retrieval_stops_helping() -> None:
    assert fit_threshold(outcomes("r", 4)) == pytest.approx(4.0)
    assert fit_threshold(outcomes("r", 0)) == -math.inf
    assert fit_threshold(outcomes("r", 11)) == math.inf
    zero = [AdaptiveOutcome("r", -math.inf, True, False)]
    assert fit_threshold([*zero, *outcomes("r", 0)]) == -math.inf  # a tie: retrieve least
    assert fit_threshold([*zero, *zero, *outcomes("r", 0)]) == pytest.approx(1.0)


def test_adaptive_retrieval_beats_both_and_is_seeded() -> None:
    both = outcomes("a", 4) * 10 + outcomes("b", 8) * 10
    found = adaptive_retrieval(both, splits=20, seed=3)
    assert found.adaptive == 1.0
    assert found.retrieval == pytest.approx(12 / 22, abs=0.05)
    assert found.thresholds == {"a": pytest.approx(math.exp(4)), "b": pytest.approx(math.exp(8))}
    assert adaptive_retrieval(both, splits=20, seed=3) == found
    assert adaptive_retrieval(both, splits=20, seed=4) != found


def test_nothing_to_test_on_is_an_error() -> None:
    with pytest.raises(BadInput, match="two questions"):
        adaptive_retrieval([AdaptiveOutcome("r", 1.0, True, True)])


def query(identity: str, popularity: float | None, answer: str = "Oslo") -> Query:
    return Query(
        id=identity,
        task="PopQA",
        input=f"q{identity}?",
        outputs=(Output(answer=answer),),
        relation="place of birth",
        attributes={"s_pop": popularity},
    )


def test_summary_by_hand() -> None:
    queries = [query("1", 1), query("2", 1000), query("3", 0), query("4", None)]
    texts = {"1": "Oslo", "2": "Bergen\nno, Oslo", "3": "Oslo", "4": "?"}
    scores = summary(judge(queries, texts))
    assert scores["first_line"]["value"] == 0.5
    assert scores["whole_output"]["value"] == 0.75
    assert scores["relations"]["place of birth"]["whole_output"]["n"] == 4
    bins = scores["popularity_bins"]
    assert {name: (b["first_line"]["value"], b["first_line"]["n"]) for name, b in bins.items()} == {
        "0": (1.0, 2),
        "9": (0.0, 1),
    }
    assert (scores["without_popularity"], scores["zero_popularity"]) == (1, 1)


QUERIES = [query("1", 1), query("2", 2)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", '{"id": 2, "prediction": "b"}\n{"id": "1", "prediction": "a"}\n'),
        ("p.jsonl", '{"question": "q1?", "pred": "a"}\n{"question": "q2?", "pred": "b"}\n'),
        ("p.json", '{"1": "a", "2": "b"}'),
        ("p.json", '["a", "b"]'),
        ("p.json", '{"answers": ["a", "b"], "time": {}}'),
        ("p.json", '[{"id": 1, "answer": "a"}, {"id": 2, "answer": "b"}]'),
        ("p.tsv", "id\tgeneration\n1\ta\n2\tb\n"),
    ],
)
def test_layouts_of_predictions(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert read_popqa_predictions(path, QUERIES) == {"1": "a", "2": "b"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.json", '["a"]', "1 predictions without ids for 2"),
        ("p.json", '{"1": "a", "2": "b", "3": "c"}', "unknown questions: 3"),
        ("p.json", '{"1": "a"}', "no prediction: 2"),
        ("p.json", '{"1": "a", "2": 5}', "no text: 2"),
        ("p.jsonl", '{"id": 1, "says": "a"}', r"p\.jsonl:1: .*--prediction"),
        ("p.jsonl", '{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}', "two predictions for 1"),
    ],
)
def test_wrong_predictions_are_named(name: str, content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(BadInput, match=f"(?s){message}"):
        read_popqa_predictions(path, QUERIES)


def test_a_real_system(shared: Path, tmp_path: Path) -> None:
    data = shared / "data"
    rows = tmp_path / "rows.jsonl"
    run = CliRunner().invoke(
        score_popqa_command,
        [
            str(data / "third-party-runs/popqa_keyword.json.gz"),
            *("--gold", str(data / "popqa/popqa-1000.json.gz"), "--json", "--per-query", str(rows)),
        ],
    )
    assert run.exit_code == 0, run.output
    scores: dict[str, Any] = json.loads(run.stdout)
    assert scores["first_line"]["value"] == 0.693
    assert scores["relations"]["occupation"]["first_line"]["n"] == 457
    assert len(rows.read_text().splitlines()) == 1000
