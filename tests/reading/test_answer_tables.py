"""AmbER's Table 7, KILT's Tables 3 to 5 and the cost of confusion, on answers known by hand."""

from __future__ import annotations

import pytest
from fixed_retriever import Fixed

from whichone.errors import BadInput, UsageError
from whichone.papers.kilt.kilt_report import by_dataset, retrieval_table
from whichone.report.answer_sections import (
    answer_sections,
    confusion_cost_table,
    end_to_end_table,
    gold_and_other,
)
from whichone.report.report import make_report
from whichone.runs.read import as_reader, read, run_reader
from whichone.runs.runner import run_retriever
from whichone.runs.shown import setting_for


@pytest.fixture
def three(toy, tmp_path):
    """The looked-up fact of the gold page, of another bearer's page, and closed-book."""
    return [
        read(toy.folder.root, tmp_path / kind, reader="kb-lookup", passages=kind)
        for kind in ("gold", "other-bearer", "none")
    ]


def cell(table, row: int, column: str):
    return table.rows[row][table.columns.index(column)]


def test_end_to_end(toy, three):
    table = end_to_end_table(three[:2], toy)
    where = {(r[0], r[1], r[2]): n for n, r in enumerate(table.rows)}
    gold = where["toy", "question answering", "kb-lookup (shortcut) (gold) ‡"]
    other = where["toy", "question answering", "kb-lookup (shortcut) (other bearer) ‡"]
    assert cell(table, gold, "all").value == 1.0
    assert cell(table, other, "all").value == 0.0
    assert cell(table, other, "for a namesake").value == pytest.approx(2 / 5)
    assert cell(table, other, "refused").value == pytest.approx(3 / 5)
    claims = where["toy", "fact checking", "kb-lookup (shortcut) (other bearer) ‡"]
    assert cell(table, claims, "for a namesake") is None
    assert cell(table, claims, "all").value == pytest.approx(2 / 10)
    assert "| 100.0 " in table.to_markdown()


def test_what_confusion_costs(toy, three):
    table = confusion_cost_table(three[0], three[1], toy)
    rows = {tuple(row[:3]): row for row in table.rows}
    claims = rows["fact checking", "all", "accuracy"]
    assert claims[3:5] == (pytest.approx(20.0), pytest.approx(100.0))
    assert claims[5].value == pytest.approx(0.8) and claims[7] == 10
    asked = rows["question answering", "tail", "F1"]
    assert asked[3:5] == (0.0, 100.0) and asked[7] == 3
    wrong = rows["question answering", "head", "answered_for_namesake"]
    assert wrong[3:5] == (50.0, 0.0)
    assert ("fact checking", "all", "answered_for_namesake") not in rows
    with pytest.raises(UsageError, match="gold is wanted"):
        confusion_cost_table(three[1], three[0], toy)


def test_kilt_tables(toy, three, tmp_path):
    plain, gated = (by_dataset(three, toy, gated=gated) for gated in (False, True))
    column = "question answering (em)"
    assert [cell(plain, n, column).value for n in range(3)] == [1.0, 0.0, 1.0]
    assert [cell(gated, n, "question answering (kilt_em)").value for n in range(3)] == [1.0, 0, 0]
    run = run_retriever(Fixed("p:vennick-rower#0"), toy, tmp_path / "run", k=1, name="fixed")
    found = retrieval_table([run], toy)
    assert cell(found, 0, "slot filling").value == pytest.approx(2 / 5)


def test_in_one_report_with_runs_or_alone(toy, toy_ambigdocs, three, tmp_path):
    run = run_retriever(Fixed("p:vennick-rower#0"), toy, tmp_path / "run", k=1, name="fixed")
    folders = [a.path for a in three]
    both = make_report([run.path, *folders], tmp_path / "both.html")
    names = {p.name for p in both}
    assert {"end-to-end.csv", "kilt-scores.tex", "kilt-retrieval.md"} <= names
    assert any(n.startswith("cost-of-confusion") for n in names)
    alone = make_report(folders, tmp_path / "alone.html")
    assert "What the user is told" in alone[0].read_text()
    several = read(toy_ambigdocs.folder.root, tmp_path / "several", reader="kb-lookup")
    page = make_report([several.path], tmp_path / "several.html")
    assert "complete" in page[0].read_text() and "Tarnholm" in page[0].read_text()
    hidden = make_report([several.path], tmp_path / "hidden.html", redact=True)
    assert "complete" in hidden[0].read_text() and "Tarnholm" not in hidden[0].read_text()
    with pytest.raises(BadInput, match="make one report for each"):
        answer_sections([several], toy)


def test_pairs_are_of_one_reader(toy, three, tmp_path):
    setting = setting_for(toy, passages="other-bearer")
    own = run_reader(as_reader(lambda text: "none"), toy, tmp_path / "t", setting)
    assert gold_and_other([three[0], own]) == []
    assert gold_and_other(three) == [(three[0], three[1])]
