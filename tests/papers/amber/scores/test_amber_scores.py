"""AmbER's scores: equal to the released scorer, in every format, and confusion by hand."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.measures.ranking_measures import is_confused, is_right
from whichone.papers.amber.amber_scores import AmberEvaluation, evaluate_amber, ranked_pages
from whichone.runs.run import FAILURES, KIND, RANKINGS

PAGES = st.sampled_from("abcdef")


def golden(folder: Path) -> list[Path]:
    cases = sorted(path for path in folder.iterdir() if path.is_dir())
    assert cases
    return cases


def files(case: Path) -> tuple[Path, Path]:
    return case / "amber_sets.jsonl", case / "predictions.jsonl"


def test_equal_to_the_released_scorer(shared: Path) -> None:
    for case in golden(shared / "golden/amber/eval"):
        expected = json.loads((case / "expected.json").read_text("utf-8"))
        depths = [int(k) for k in expected["metrics"]]
        result = evaluate_amber(*files(case), depths=depths)
        for k in depths:
            wanted, ours = expected["metrics"][str(k)], result.scores[k]
            found = (ours.accuracy, ours.head, ours.tail, ours.all_correct)
            parts = (wanted, wanted["head"], wanted["tail"])
            values = (*(part.get("accuracy") for part in parts), wanted["consistency"])
            assert found == pytest.approx(values, abs=1e-9), (case.name, k)
            right = {str(row["id"]) for row in result.rows if row[f"accuracy@{k}"]}
            if "dup_query_ids" not in case.name:
                assert right == set(expected["correct_ids"][str(k)]), (case.name, k)


def test_what_stops_the_released_scorer(shared: Path) -> None:
    errors = shared / "golden/amber/errors"
    with pytest.raises(BadInput, match="no prediction"):
        evaluate_amber(*files(errors / "e01_missing_prediction"))
    with pytest.raises(BadInput, match="no wikipedia_id") as caught:
        evaluate_amber(*files(errors / "e03_no_wikipedia_id"))
    assert caught.value.line == 1
    assert evaluate_amber(*files(errors / "e05_kilt_output_list")).scores[1].accuracy is not None
    for case in ("e01_missing_prediction", "e03_no_wikipedia_id"):
        assert len(evaluate_amber(*files(errors / case), on_error="skip").skipped) == 1


def bearer(head: bool, pages: list[Any], queries: dict[str, list[Any]]) -> dict[str, Any]:
    def entries(ids: list[Any]) -> list[dict[str, Any]]:
        return [{"wikipedia_id": i, "title": f"T{i}"} for i in ids]

    return {
        "is_head": head,
        "popularity": 1.0,
        "wikipedia": entries(pages),
        "queries": [
            {"id": q, "input": "?", "output": {"answer": ["v"], "provenance": entries(gold)}}
            for q, gold in queries.items()
        ],
    }


SETS = [
    {
        "name": "Abe Lincoln",
        "qids": {
            "Q1": bearer(True, ["1"], {"h": ["1"]}),
            "Q2": bearer(False, ["2", "3"], {"t1": ["2"], "t2": ["3"]}),
        },
    }
]
RANKED = {"h": ["1", "2"], "t1": ["9", "1", "2"], "t2": ["2", "3", "1"]}


class Scorer:
    def __init__(self, folder: Path) -> None:
        self.sets, self.predictions = folder / "sets.jsonl", folder / "predictions"
        self.write_sets(SETS)

    def write_sets(self, sets: list[Any]) -> None:
        self.sets.write_text("".join(json.dumps(one) + "\n" for one in sets))

    def score(self, ranked: dict[str, list[Any]], **options: Any) -> AmberEvaluation:
        lines = [
            {"id": q, "output": {"provenance": [{"wikipedia_id": p} for p in pages]}}
            for q, pages in ranked.items()
        ]
        self.predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return evaluate_amber(self.sets, self.predictions, **options)


@pytest.fixture
def scorer(tmp_path: Path) -> Scorer:
    return Scorer(tmp_path)


def test_confusion_by_hand(scorer: Scorer) -> None:
    result = scorer.score(RANKED, depths=(1, 2, 3))
    third = 100 / 3
    assert [result.scores[k].confused for k in (1, 2, 3)] == pytest.approx([0, third, third])
    assert [result.scores[k].confused_tail for k in (1, 2, 3)] == pytest.approx([0, 50, 50])
    assert result.scores[3].confused_head == 0
    # page 2 before page 3: both are of the same bearer, which is no confusion
    assert [row["confused@3"] for row in result.rows] == [0, 1, 0]
    assert result.scores[3].all_correct == 100
    assert result.scores[1].all_correct == 0


def test_a_run_without_gold_is_confused_by_any_other_bearer(scorer: Scorer) -> None:
    result = scorer.score({"h": ["9", "3"], "t1": [], "t2": ["9"]}, depths=(20,))
    assert [row["confused@20"] for row in result.rows] == [1, 0, 0]


@given(st.lists(PAGES), st.frozensets(PAGES), st.frozensets(PAGES), st.integers(1, 6))
def test_confused_and_correct_by_their_definitions(
    pages: list[str], gold: frozenset[str], others: frozenset[str], k: int
) -> None:
    ranked = ranked_pages(pages)[:k]
    first_gold = min((ranked.index(p) for p in gold if p in ranked), default=k)
    first_other = min((ranked.index(p) for p in others - gold if p in ranked), default=k)
    assert is_right(ranked, frozenset(gold)) == (first_gold < k)
    assert is_confused(ranked, frozenset(gold), frozenset(others - gold)) == (first_other < first_gold)


def test_the_text_none_is_no_page_but_null_is(scorer: Scorer) -> None:
    result = scorer.score({"h": ["None", "None", "1"], "t1": [None, "2"], "t2": ["3"]}, depths=(1,))
    assert [row["accuracy@1"] for row in result.rows] == [1, 0, 1]


def test_ids_of_another_type_do_not_match_and_it_says_so(scorer: Scorer) -> None:
    result = scorer.score({"h": [1], "t1": ["2"], "t2": ["3"], "else": []}, depths=(1,))
    assert result.scores[1].head == 0 and result.scores[1].tail == 100
    assert len(result.warnings) == 2
    assert "left out" in result.warnings[0] and "str in the sets and int" in result.warnings[1]


def test_every_format_gives_the_same_scores(scorer: Scorer, tmp_path: Path) -> None:
    wanted = scorer.score(RANKED, depths=(1, 2)).scores
    kilt, trec, run = tmp_path / "kilt.jsonl", tmp_path / "run.trec", tmp_path / "run"
    with kilt.open("w") as one, trec.open("w") as other:
        for q, pages in RANKED.items():
            outputs = [{"answer": "v"}, {"provenance": [{"wikipedia_id": p} for p in pages]}]
            one.write(json.dumps({"id": q, "output": outputs}) + "\n")
            for rank, page in reversed(list(enumerate(pages, 1))):
                other.write(f"{q} Q0 enwiki:{page}#0 {rank} {10 - rank} tag\n")
    rows = [
        {"question": q, "rank": n, "passage": f"enwiki:{p}", "page": f"enwiki:{p}", "score": -float(n)}
        for q, pages in RANKED.items()
        for n, p in enumerate(pages, 1)
    ]
    with Folder.create(run, KIND) as folder:
        folder.write(RANKINGS, pa.Table.from_pylist(rows, schema=RANKINGS.schema))
        folder.write(FAILURES, pa.Table.from_pylist([], schema=FAILURES.schema))
        folder.commit(name="r")
    for predictions in (kilt, trec, run):
        assert evaluate_amber(scorer.sets, predictions, depths=(1, 2)).scores == wanted, predictions


def test_bad_files_are_named(scorer: Scorer, tmp_path: Path) -> None:
    def refused(text: str, said: str) -> BadInput:
        scorer.predictions.write_text(text)
        with pytest.raises(BadInput, match=said) as caught:
            evaluate_amber(scorer.sets, scorer.predictions)
        return caught.value

    refused("", "no predictions")
    assert refused("one two\n", "neither").line == 1
    assert refused('{"id": "h", "output": [{"provenance": []}, {"provenance": []}]}', "2 outputs").line == 1
    assert refused("q Q0 d 1 0.5 t\nq Q0 d one 0.5 t\n", "rank is no finite number").line == 2
    assert refused("q Q0 d 1 0.5 t\nq Q0 d\n", "TREC").line == 2
    scorer.write_sets([])
    refused('{"id": "h", "output": {"provenance": []}}', "no AmbER sets")
    scorer.write_sets([{"name": "n", "qids": {}}])
    refused('{"id": "h", "output": {"provenance": []}}', "has a query")


def test_lines_that_are_no_predictions_can_be_skipped(scorer: Scorer) -> None:
    wanted = scorer.score(RANKED, depths=(1,)).scores
    with scorer.predictions.open("a") as file:
        file.write('{"id": "h"}\nnonsense\n{"id": "h", "output": []}\n')
    found = evaluate_amber(scorer.sets, scorer.predictions, depths=(1,), on_error="skip")
    assert found.scores == wanted
    assert [said.split(": ")[0].rpartition(":")[2] for said in found.skipped] == ["4", "5", "6"]


def test_a_folder_is_no_file_of_sets(scorer: Scorer, tmp_path: Path) -> None:
    scorer.score(RANKED)
    with pytest.raises(BadInput, match="a folder, where one file") as caught:
        evaluate_amber(tmp_path, scorer.predictions)
    assert "--format amber" in str(caught.value.hint)


def test_a_set_without_queries_counts_as_all_correct_and_no_heads_is_none(scorer: Scorer) -> None:
    lone = {"name": "n", "qids": {"Q1": bearer(False, ["1"], {"q": ["1"]})}}
    scorer.write_sets([lone, {"name": "empty", "qids": {"Q2": bearer(True, ["2"], {})}}])
    scores = scorer.score({"q": ["2"]}, depths=(1,)).scores[1]
    assert scores.all_correct == 50 and scores.head is None and scores.confused_head is None
