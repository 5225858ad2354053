"""Equal to the official KILT programs, to the last bit, on every stored case."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whichone.errors import BadInput
from whichone.papers.kilt.evaluate import Evaluation, evaluate
from whichone.papers.kilt.kilt_scoring import DOWNSTREAM, KILT, KiltSettings, Rules

RULES: tuple[Rules, ...] = ("default", "published")


def cases(folder: Path, pattern: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    found = sorted(folder.glob(pattern))
    assert found, f"no case {pattern} in {folder}"
    for case in found:
        yield case, json.loads((case / "expected.json").read_text("utf-8"))


def scored(case: Path, setting: dict[str, Any], rules: Rules) -> Evaluation:
    settings = KiltSettings(ks=tuple(setting["ks"]), rank_keys=tuple(setting["rank_keys"]))
    return evaluate(case / "gold.jsonl", case / "guess.jsonl", settings, rules=rules)


@pytest.mark.parametrize("rules", RULES)
def test_means_are_the_official_ones(shared: Path, rules: Rules) -> None:
    for case, expected in cases(shared / "golden/kilt", "k*"):
        for setting in expected["eval_retrieval"]:
            result = scored(case, setting, rules)
            if expected["eval_downstream"] is None:  # written by a retriever: no answers of its own
                assert result.downstream is None and result.kilt is None, case.name
            else:
                assert result.downstream == expected["eval_downstream"]["downstream"], case.name
                assert result.kilt == expected["eval_downstream"]["kilt"], case.name
            repeated = len(set(setting["ks"])) < len(setting["ks"])
            if "error" in setting["result"]:  # the official retrieval program wants provenance
                assert result.retrieval is not None and not result.retrieval["Rprec"], case.name
            elif not repeated or rules == "published":
                assert result.retrieval == setting["result"], case.name


def test_a_cut_off_given_twice_counts_once_unless_rules_are_published(shared: Path) -> None:
    case = shared / "golden/kilt/k21_deep"
    setting = {"ks": [100, 5, 5, 1], "rank_keys": ["wikipedia_id"]}
    once = scored(case, {**setting, "ks": [1, 5, 100]}, "published").retrieval
    assert scored(case, setting, "default").retrieval == once
    assert scored(case, setting, "published").retrieval != once


def test_each_record_scores_as_the_official_functions_score_it(shared: Path) -> None:
    for case, expected in cases(shared / "golden/kilt", "k*"):
        lines = (case / "per_record.jsonl").read_text("utf-8").splitlines()
        for number, setting in enumerate(expected["eval_retrieval"]):
            rows = scored(case, setting, "default").rows()
            for row, record in zip(rows, map(json.loads, lines), strict=True):
                assert row["id"] == record["id"]
                if expected["eval_downstream"] is not None:
                    assert [row[name] for name in DOWNSTREAM] == record["acc_em_f1_rl"]
                    assert [row[name] for name in KILT] == record["kilt_acc_em_f1_rl"]
                if "error" not in setting["result"] and number < len(record["retrieval_nonzero"]):
                    other = {"id", *DOWNSTREAM, *KILT}
                    found = {k: v for k, v in row.items() if v and k not in other}
                    assert found == record["retrieval_nonzero"][number], (case.name, row["id"])


BEATEN = "RecursionError"  # the package rouge recurses; ours does not


def test_what_stops_both_official_programs_is_one_error_with_its_place(shared: Path) -> None:
    for case, expected in cases(shared / "golden/kilt/errors", "e*"):
        both = [expected["eval_downstream"], expected["eval_retrieval_k1_5"]]
        if not all("error" in part for part in both):
            continue
        for rules in RULES:
            if rules == "default" and case.name == "e09_gold_without_input":  # as TriviaQA's files
                assert scored(case, {"ks": [1], "rank_keys": ["wikipedia_id"]}, rules).retrieval
                continue
            with pytest.raises(BadInput) as caught:
                scored(case, {"ks": [1, 5], "rank_keys": ["wikipedia_id"]}, rules)
            assert caught.value.file is not None and Path(caught.value.file).parent == case
            assert caught.value.line is not None, case.name
            assert caught.value.ids or "blank" in caught.value.message, case.name


def test_skipping_goes_on_and_lists_them(shared: Path) -> None:
    for case, expected in cases(shared / "golden/kilt/errors", "e*"):
        both = [expected["eval_downstream"], expected["eval_retrieval_k1_5"]]
        result = evaluate(case / "gold.jsonl", case / "guess.jsonl", on_error="skip")
        if all("error" in part for part in both):
            scored_now = case.name == "e09_gold_without_input"
            assert len(result.problems) == 0 if scored_now else 1, case.name


def test_what_one_official_program_scores_is_scored(shared: Path) -> None:
    for case, expected in cases(shared / "golden/kilt/errors", "e*"):
        downstream, retrieval = expected["eval_downstream"], expected["eval_retrieval_k1_5"]
        if "error" not in downstream:
            result = evaluate(case / "gold.jsonl", case / "guess.jsonl", KiltSettings(ks=(1, 5)))
            assert result.downstream == downstream["downstream"], case.name
        if "error" not in retrieval:
            only = KiltSettings(ks=(1, 5), only="retrieval")
            result = evaluate(case / "gold.jsonl", case / "guess.jsonl", only)
            assert result.retrieval == retrieval, case.name
        if downstream.get("error") == BEATEN:
            result = evaluate(case / "gold.jsonl", case / "guess.jsonl")
            assert result.downstream is not None, case.name
