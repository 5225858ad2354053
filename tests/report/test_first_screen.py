"""The first screen of a report: outcomes counted by hand, the verdict, labels that distinguish."""

from __future__ import annotations

from whichone.measures.intervals import Estimate
from whichone.records import Output, Provenance, Query
from whichone.report.first_screen import Shares, outcome_of, verdict
from whichone.report.page import ReportPage, Section, Table

GOLD = ((Provenance(page="p:1"),),)
QUERY = Query(id="q", task="qa", input="?", outputs=(Output(answer="a", provenance=GOLD),))


def test_each_question_has_one_of_four_outcomes() -> None:
    others = frozenset({"p:2"})
    assert outcome_of(["p:1", "p:2"], QUERY.gold_pages(), others) == "right"
    assert outcome_of(["p:9", "p:2", "p:1"], QUERY.gold_pages(), others) == "confused"
    assert outcome_of(["p:2"], QUERY.gold_pages(), others) == "confused"
    assert outcome_of(["p:9", "p:1", "p:2"], QUERY.gold_pages(), others) == "later"
    assert outcome_of(["p:9"], QUERY.gold_pages(), others) == "missing"
    assert outcome_of([], QUERY.gold_pages(), others) == "missing"


def shares(system: str, right: int, namesake: int) -> Shares:
    rest = 100 - right - namesake
    counts = {"right": right, "confused": namesake, "later": rest, "missing": 0}
    return Shares(system, counts, Estimate(right / 100, None, None, 100))  # type: ignore[arg-type]


def test_the_verdict_is_about_the_best_and_the_most_confused() -> None:
    said = verdict([shares("namesake", 85, 9), shares("bm25", 40, 44), shares("x", 20, 1)], None)
    assert said == "bm25 hands over the wrong one in 44 of 100 questions; namesake in 9."
    alone = verdict([shares("bm25", 40, 44)], "Derek Walker")
    assert alone.startswith("bm25 is right for 40 of 100 questions and hands over the wrong Derek")


def test_tables_explain_their_words_and_fold() -> None:
    table = Table(key="t", title="T", columns=["system", "head", "p (Holm)"], rows=[["a", 1, 2]])
    page = ReportPage("t", "s", [Section("Found", [table], folded=True)]).to_html()
    assert "Head: the most popular bearer of a name." in page
    assert "Holm: p values corrected" in page
    assert "Tail:" not in page
    assert '<details class="topic"><summary><h2>Found</h2>' in page
