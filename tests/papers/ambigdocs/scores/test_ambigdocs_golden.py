"""Agreement with the released scorer, value by value."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from whichone.files.lines import read_json_lines
from whichone.papers.ambigdocs.ambigdocs_files import read_ambigdocs_predictions
from whichone.papers.ambigdocs.categories import (
    PUBLISHED,
    Category,
    Overlap,
    distinguishing_tokens,
    entity_overlap,
    overlap,
)
from whichone.papers.ambigdocs.score_answer import PredictionScore, score_prediction
from whichone.text.normalisers import content_tokens, normalize


@pytest.fixture(scope="module")
def examples(shared: Path) -> list[dict[str, Any]]:
    return [row for _, row in read_json_lines(shared / "golden/ambigdocs/examples.jsonl")]


@pytest.fixture(scope="module")
def scored(examples: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> list[PredictionScore]:
    path = tmp_path_factory.mktemp("golden") / "predictions.json"
    rows = [{**e["example"], "span_predictions": e["span_predictions"]} for e in examples]
    path.write_bytes(msgspec.json.encode(rows))
    return [score_prediction(prediction, PUBLISHED) for prediction in read_ambigdocs_predictions(path)]


def test_every_example(examples: list[dict[str, Any]], scored: list[PredictionScore]) -> None:
    assert len(scored) == len(examples) > 0
    for example, score in zip(examples, scored, strict=True):
        expect, qid = example["expect"], example["example"]["qid"]
        assert [b.answer_recall for b in score.bearers] == expect["answer_recall"], qid
        assert [b.entity_recall for b in score.bearers] == expect["entity_recall"], qid
        assert [b.entity_answer_recall for b in score.bearers] == expect["entity_answer_recall"]
        assert (score.paired, score.unpaired) == (expect["c_paired"], expect["c_unpaired"]), qid
        assert score.category is list(Category)[expect["category"]], qid
        assert score.knowledge_precision == expect["kp"], qid


def test_every_rounded_score(examples: list[dict[str, Any]], scored: list[PredictionScore]) -> None:
    for example, score in zip(examples, scored, strict=True):
        means = {
            "R": score.answer_recall,
            "Entity": score.entity_recall,
            "EWR": score.entity_answer_recall,
            "KP": score.knowledge_precision,
            "DF1": score.disambig_f1,
        }
        rounded = {name: round(value or 0.0, 3) for name, value in means.items()}
        assert rounded == example["expect"]["scores_round3"], score.qid


def test_every_token_overlap(shared: Path) -> None:
    rows = [row for _, row in read_json_lines(shared / "golden/ambigdocs/token_f1.jsonl")]
    assert rows
    for row in rows:
        gold, text, name, expect = row["gold"], row["pred"], row["surface"], row["expect"]
        plain = overlap(content_tokens(gold), content_tokens(text))
        found = plain if name is None else entity_overlap(gold, text, name)
        assert found == Overlap(expect["precision"], expect["recall"], expect["f1"]), row
        assert len(normalize(gold).split()) == expect["n_tokens"]
        assert len(content_tokens(gold)) == expect["n_content_tokens"]
        if name is not None:
            left = distinguishing_tokens(gold, name)
            assert len(left) == expect["n_after_surface_removed"], row
