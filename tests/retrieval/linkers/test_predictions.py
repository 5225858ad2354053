"""Files of other linkers come in as runs, by Wikidata id or by title."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.runs.predictions import LINKERS
from whichone.runs.run_files import import_run


def bring(benchmark: Benchmark, tmp_path: Path, format: str, text: str, **more: Any) -> Any:
    file = tmp_path / "predictions"
    file.write_text(text)
    out = tmp_path / "run"
    place = str(benchmark.folder.root)
    return import_run(file, out, benchmark, place=place, format=format, **more)


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


EMPTY = [{"predictions": []}] * 2
FILES = {
    "bootleg": lines(
        {"sent_idx_unq": 1, "cands": [["Q1", "Q2", "-1"]], "cand_probs": [[0.2, 0.7, 0.1]]},
        {"sent_idx_unq": 0, "qids": ["Q1"], "probs": [0.9]},
        *[{"sent_idx_unq": n, "qids": [], "probs": []} for n in (2, 3, 4)],
    ),
    "blink": lines(
        {"id": "q2", "predictions": ["Ken Ono", "Ken_Ono (painter)"], "scores": [1.0, 2.5]},
        {"id": "q1", "predictions": ["Ken Ono"], "scores": [1.0]},
        *[{"id": f"q{n}", "predictions": [], "scores": []} for n in (3, 4, 5)],
    ),
    "elq": lines(
        {"id": 0, "pred_tuples_string": [["Ken Ono", "ken ono"]], "scores": [-0.5]},
        {
            "id": 1,
            "pred_tuples_string": [["Ken Ono", "ono"], ["Ken Ono (painter)", "ken ono"]],
            "scores": [-2.0, -1.0],
        },
        *[{"id": n, "pred_tuples_string": [], "scores": []} for n in (2, 3, 4)],
    ),
    "genre": lines(
        {"predictions": [{"text": "Ken Ono", "score": -0.1}]},
        {"predictions": [{"text": "Ken Ono (painter)", "score": -0.1}, {"text": "Ken Ono", "score": -0.4}]},
        *EMPTY,
        *EMPTY[:1],
    ),
    "realm": lines(
        {"blocks": [{"title": "Ken Ono", "score": 3.0}, {"title": "Ken Ono", "score": 2.0}]},
        {"blocks": [{"title": "Ken Ono (painter)"}, {"title": "Ken Ono"}]},
        *[{"blocks": []}] * 3,
    ),
    "rag": 'Ken Ono\tKen Ono\n"Ken Ono (painter)"\tKen Ono\n\n\n\n',
}


def test_every_format_is_tried() -> None:
    assert set(FILES) == set(LINKERS)


@pytest.mark.parametrize("format", FILES)
def test_each_format(onos: Benchmark, tmp_path: Path, format: str) -> None:
    run = bring(onos, tmp_path, format, FILES[format])
    assert run.ranked_pages() == {"q1": ["w:1"], "q2": ["w:2", "w:1"]}
    assert not run.failures
    assert run.description["format"] == format


def test_what_bootlegs_own_program_writes(onos: Benchmark, tmp_path: Path) -> None:
    """Lines of its `write_data_labels_single`: padding, its entity for none, nulls for a mention without candidates."""
    text = lines(
        {
            "sent_idx_unq": 0, "aliases": ["ken ono", "nobody"], "char_spans": [[0, 7], [9, 12]],
            "sentence": "x", "qids": ["Q2", "NC"], "probs": [0.7, None],
            "cands": [["NC", "Q1", "Q2", "-1"], ["NC", "-1", "-1", "-1"]],
            "cand_probs": [[0.05, 0.2, 0.7, 0.05], [None, None, None, None]], "entity_ids": [2, 0],
        },
        {
            "sent_idx_unq": 1, "aliases": [], "char_spans": [], "sentence": "y", "qids": [], "probs": [],
            "cands": [], "cand_probs": [], "entity_ids": [],
        },
    )  # fmt: skip
    run = bring(onos, tmp_path, "bootleg", text, on_error="skip")
    assert run.ranked_pages() == {"q1": ["w:2", "w:1"]}


def test_mentions_on_several_lines_are_merged_by_score(onos: Benchmark, tmp_path: Path) -> None:
    text = lines(
        {"id": "q3", "predictions": ["Ken Ono"], "scores": [0.5]},
        {"id": "q3", "predictions": ["Jane Roe"], "scores": [0.9]},
    )
    run = bring(onos, tmp_path, "blink", text, on_error="skip")
    assert run.ranked_pages() == {"q3": ["w:3", "w:1"]}
    assert sorted(run.failures) == ["q1", "q2", "q4", "q5"]


def test_a_title_the_corpus_has_not(onos: Benchmark, tmp_path: Path) -> None:
    text = lines({"id": "q1", "predictions": ["1"], "scores": [1.0]})  # no page id, a title
    with pytest.raises(BadInput, match="no page or passage 'title 1'"):
        bring(onos, tmp_path, "blink", text)
    run = bring(onos, tmp_path, "blink", text, on_error="skip")
    assert run.folder.manifest.counts["skipped"] == 1


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("elq", lines({"id": 9, "pred_tuples_string": []}), "none that is '9'"),
        ("elq", lines({"id": 0}), "predictions:1: not what elq writes"),
        ("genre", lines([1, 2]), "a JSON object is expected"),
        ("blink", lines({"predictions": ["a", "b"], "scores": [1.0]}), "not what blink writes"),
        ("bootleg", '{"qids": ["Q1"], "probs": [NaN]}\n', "predictions:1"),
        ("realm", "{", "predictions:1"),
    ],
)
def test_files_that_are_something_else(
    onos: Benchmark, tmp_path: Path, format: str, text: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        bring(onos, tmp_path, format, text)
