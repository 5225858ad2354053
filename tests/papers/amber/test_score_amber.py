"""`whichone score amber` as a person types it."""

import json
from pathlib import Path

from click.testing import CliRunner

from whichone.cli import whichone


def test_json_has_a_block_for_each_depth(tmp_path: Path) -> None:
    entry = [{"wikipedia_id": "1"}]
    bearer = {"is_head": True, "wikipedia": entry, "queries": [{"id": "q", "output": {"provenance": entry}}]}
    other = {"is_head": False, "wikipedia": [{"wikipedia_id": "2"}], "queries": []}
    sets, predictions = tmp_path / "sets.jsonl", tmp_path / "predictions.jsonl"
    sets.write_text(json.dumps({"name": "n", "qids": {"Q1": bearer, "Q2": other}}))
    ranked = [{"wikipedia_id": "2"}, {"wikipedia_id": "1"}]
    predictions.write_text(json.dumps({"id": "q", "output": {"provenance": ranked}}))
    command = ["score", "amber", str(sets), str(predictions)]

    printed = json.loads(CliRunner().invoke(whichone, [*command, "-k", "1,2", "--json"]).stdout)
    assert printed == {
        k: {
            "accuracy": right,
            "head": right,
            "tail": None,
            "all_correct": right,
            "confused": 100.0,
            "confused_head": 100.0,
            "confused_tail": None,
        }
        for k, right in (("1", 0.0), ("2", 100.0))
    }
    rows = tmp_path / "rows.jsonl"
    table = CliRunner().invoke(whichone, [*command, "--per-query", str(rows)])
    assert "confused_head" in table.stdout
    assert json.loads(rows.read_text())["confused@20"] == 1.0
