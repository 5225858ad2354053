"""Scoring and comparing folders of answers, as typed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.measures.comparison import compare
from whichone.measures.scores import distinctly_named, score_folder, slice_rows
from whichone.records import Answer
from whichone.runs.read import read, run_reader
from whichone.runs.shown import Setting


class Names:
    """Says a fixed thing, or fails."""

    name = "names"

    def __init__(self, text: str | None, fails: frozenset[str] = frozenset()) -> None:
        self.text, self.fails = text, fails

    def describe(self):
        return {"reader": "names", "text": self.text}

    def read(self, tasks):
        for task in tasks:
            bad = task.question.id in self.fails
            yield Answer(question=task.question.id, text=self.text, error="no" if bad else None)


def typed(*words: str) -> list:
    result = CliRunner().invoke(whichone, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_score_by_role(toy, tmp_path):
    run_reader(Names("Eskby"), toy, tmp_path / "a", Setting())
    rows = typed("score", str(tmp_path / "a"), "--measures", "em,answered_for_namesake", "--by", "task,role")
    by = {(r["task"], r["role"]): r for r in rows}
    # of five questions on roles the rower's birthplace is Eskby; the botanist's is another one
    assert by["qa", "tail"]["em"]["value"] == pytest.approx(1 / 3)
    assert by["qa", "head"]["em"]["value"] == 0
    assert by["qa", "head"]["answered_for_namesake"]["value"] == pytest.approx(1 / 2)
    assert by["fc", "head"]["answered_for_namesake"]["value"] is None


def test_failures_count_as_wrong_and_left_out_does_not_count(toy, tmp_path):
    fails = frozenset({"qa:vennick-rower:birthplace"})
    run_reader(Names("Eskby", fails), toy, tmp_path / "a", Setting(passages="other-bearer"))
    rows = {r["query"]: r for r in score_folder(tmp_path / "a", ["em", "failure"]).rows()}
    assert rows["qa:vennick-rower:birthplace"]["em"] == 0
    assert rows["qa:vennick-rower:birthplace"]["failure"] == 1
    assert rows["lonely"]["em"] is None


def test_usual_measures_by_task(toy, toy_ambigdocs, tmp_path):
    run_reader(Names("Eskby"), toy, tmp_path / "a", Setting())
    assert {"em", "f1", "accuracy", "refusal"} <= slice_rows(score_folder(tmp_path / "a"))[0].keys()
    run_reader(Names("Orla Vennick (rower): Eskby"), toy_ambigdocs, tmp_path / "b", Setting())
    rows = {r["query"]: r for r in score_folder(tmp_path / "b").rows()}
    assert rows["Orla Vennick"]["partial"] == 1 and rows["Brightwater"]["no_answer"] == 1


def test_measures_of_the_other_kind_are_refused(toy, tmp_path):
    run_reader(Names("Eskby"), toy, tmp_path / "a", Setting())
    with pytest.raises(UsageError, match="acc@1: no measure of answers"):
        score_folder(tmp_path / "a", ["acc@1"])


def test_what_confusion_costs_is_a_paired_comparison(toy, tmp_path):
    for kind in ("gold", "other-bearer"):
        read(toy.folder.root, tmp_path / kind, reader="kb-lookup", passages=kind)
    paths = [tmp_path / "other-bearer", tmp_path / "gold"]
    scores = distinctly_named([score_folder(p, ["em"]) for p in paths], paths)
    found = compare(scores, scores[0].measures)[0]
    assert found.value_b == 1.0
    # right only where a false birthplace is refuted by another bearer's birthplace
    assert found.value_a == pytest.approx(2 / 20)
    assert found.difference.n == 20  # the question without a namesake is in neither
    typed_found = typed("compare", *map(str, paths), "--measures", "em")
    assert typed_found[0]["difference"]["value"] == pytest.approx(found.difference.value)


def test_answers_over_other_benchmarks_are_not_compared(toy, toy_ambigdocs, tmp_path):
    run_reader(Names("x"), toy, tmp_path / "a", Setting())
    run_reader(Names("x"), toy_ambigdocs, tmp_path / "b", Setting())
    scores = [score_folder(tmp_path / n, ["em"]) for n in "ab"]
    with pytest.raises(BadInput, match="different benchmarks"):
        compare(scores, scores[0].measures)


def test_read_and_show_as_typed(toy, tmp_path):
    place = str(tmp_path / "a")
    made = typed("read", str(toy.folder.root), place, "--reader", "kb-lookup", "--passages", "none")
    assert made["counts"]["answered"] == len(toy.queries)
    shown = typed("show", place)
    assert shown["command"].startswith(f"whichone read {toy.folder.root} {place} --reader kb-lookup")
    assert shown["parents"].keys() == {"benchmark", "reader", "setting"}


def test_flags_of_the_reader_llm(toy, tmp_path, monkeypatch):
    words = ["read", str(toy.folder.root), str(tmp_path / "a"), "--reader", "kb-lookup"]
    with pytest.raises(UsageError, match="--prompt is for the reader llm"):
        CliRunner().invoke(whichone, [*words, "--prompt", "few-shot"], catch_exceptions=False)
    with pytest.raises(UsageError, match="kb-lookup does not take these options"):
        CliRunner().invoke(whichone, [*words, "--model", "m"], catch_exceptions=False)
    monkeypatch.setenv("WHICHONE_MODEL", "m")
    monkeypatch.setenv("WHICHONE_ENDPOINT", "http://127.0.0.1:1/v1")
    assert typed(*words)["counts"]["answered"] == len(toy.queries)


def test_show_one_question(toy, tmp_path):
    place = str(tmp_path / "a")
    fails = frozenset({"qa:vennick-rower:team"})
    run_reader(Names("Eskby", fails), toy, tmp_path / "a", Setting(passages="other-bearer"))
    shown = typed("show", place, "qa:vennick-botanist:birthplace")
    assert (shown["answer"], shown["accepted"]) == ("Eskby", ["Tarnholm"])
    assert shown["other_bearers"] == ["Eskby"]
    assert {s["is"] for s in shown["shown"]} == {"namesake"}
    text = CliRunner().invoke(whichone, ["show", place, "qa:vennick-rower:team"]).stdout
    assert "said:      no" in text and "accepted:  Eskby Oars" in text
    assert typed("show", place, "lonely")["left_out"]
    with pytest.raises(BadInput, match="no question"):
        CliRunner().invoke(whichone, ["show", place, "lonly"], catch_exceptions=False)
