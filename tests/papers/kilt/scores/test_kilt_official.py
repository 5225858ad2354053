"""`score kilt --official` prints what the official programs print, and ends with an error where they do."""

from __future__ import annotations

import json
import pprint
from pathlib import Path

from click.testing import CliRunner

from whichone.cli import whichone

DEFECTS = ("e17",)
"""A recursion too deep in the rouge package, which ours does not have."""


def said(case: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        whichone, ["score", "kilt", str(case / "guess.jsonl"), str(case / "gold.jsonl"), "--official", *words]
    )
    return result.exit_code, result.stdout


def cases(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    assert found
    return found


def test_scores_as_printed(shared: Path) -> None:
    for case in cases(shared / "golden/kilt", "k*"):
        expected = json.loads((case / "expected.json").read_text())
        if expected["eval_downstream"] is not None:
            code, out = said(case)
            lines = [x for x in out.splitlines() if not x.startswith("WARNING: DIFFERENT SIZE")]
            assert code == 0, case
            assert "\n".join(lines) == pprint.pformat(expected["eval_downstream"], indent=4), case
        for asked in expected["eval_retrieval"]:
            depths, keys = (",".join(map(str, asked[name])) for name in ("ks", "rank_keys"))
            code, out = said(case, "--only", "retrieval", "-k", depths, "--rank-keys", keys)
            if "error" in asked["result"]:
                assert code == 1, case
                continue
            lines = [x for x in out.splitlines() if not x.startswith("WARNING: DIFFERENT SIZE")]
            assert "\n".join(lines) == pprint.pformat(asked["result"], indent=4), case


def test_it_ends_as_they_end(shared: Path) -> None:
    for case in cases(shared / "golden/kilt", "errors/e*"):
        if case.name.startswith(DEFECTS):
            continue
        expected = json.loads((case / "expected.json").read_text())
        parts = {"eval_downstream": (), "eval_retrieval_k1_5": ("--only", "retrieval", "-k", "1,5")}
        for name, words in parts.items():
            code, out = said(case, *words)
            if "error" in expected[name]:
                assert code == 1, (case.name, name)
            else:
                assert (code, out.strip()) == (0, pprint.pformat(expected[name], indent=4)), case


def test_another_number_of_predictions_is_said(shared: Path, tmp_path: Path) -> None:
    case = shared / "golden/kilt/k01_single"
    (tmp_path / "gold.jsonl").write_bytes((case / "gold.jsonl").read_bytes())
    lines = (case / "guess.jsonl").read_text()
    more = {**json.loads(lines.splitlines()[0]), "id": "nobody"}
    (tmp_path / "guess.jsonl").write_text(lines + json.dumps(more) + "\n")
    code, out = said(tmp_path)
    assert code == 0
    assert out.startswith("WARNING: DIFFERENT SIZE gold: 100 guess: 101\n")
