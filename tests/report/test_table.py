"""One table, four formats."""

from __future__ import annotations

from whichone.measures.intervals import Estimate
from whichone.report.page import Table

TABLE = Table(
    key="t",
    title="Accuracy & more",
    columns=("system", "all", "n_queries"),
    rows=[("a|b <x>", Estimate(0.5, 0.25, 0.75, 8), 8), ("c", Estimate(None, None, None, 0), 1000)],
    note="What it means.",
    marks={(0, 1): "*"},
)


def test_html_escapes_and_marks() -> None:
    text = TABLE.to_html()
    assert "a|b &lt;x&gt;" in text
    assert '<td class="n">50.0* <small>[25.0, 75.0]</small></td>' in text
    assert ">1,000<" in text


def test_repeated_leading_words_are_faint() -> None:
    rows = [("human", "qa", 1), ("human", "qa", 2), ("human", "sf", 3), ("place", "sf", 4)]
    text = Table(key="g", title="", columns=("a", "b", "n"), rows=rows).to_html()
    assert text.count('<td class="same">human</td>') == 2
    assert text.count('<td class="same">qa</td>') == 1
    assert "<td>sf</td>" in text and '<td class="same">sf</td>' not in text
    assert text.count('<tr class="group">') == 1


def test_markdown() -> None:
    assert "| a\\|b <x> | 50.0 [25.0, 75.0]* | 8 |" in TABLE.to_markdown()
    assert "| --- | ---: | ---: |" in TABLE.to_markdown()


def test_csv_keeps_fractions_and_intervals() -> None:
    lines = TABLE.to_csv().splitlines()
    assert lines[0] == "system,all,all low,all high,all n,all clusters,n_queries"
    assert lines[1] == "a|b <x>,0.5,0.25,0.75,8,0,8"


def test_latex_escapes() -> None:
    text = TABLE.to_latex()
    assert r"Accuracy \& more" in text
    assert r"n\_queries" in text
    assert r"\begin{tabular}{lrr}" in text
