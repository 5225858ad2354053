"""What goes into a paper: tables that a real LaTeX compiles, figures with TrueType fonts, rows that say what they saw."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.intervals import Estimate
from whichone.measures.scores import score_folder
from whichone.report.page import Table
from whichone.report.report import make_report
from whichone.runs.retrieve import as_retriever
from whichone.runs.runner import run_retriever

DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""
ODD = Table(
    key="odd_key",
    title="50% & more: #1 in {sets} of ~10^6 \\ names",
    columns=("system_name", "b − a", "∀", "p < .05"),
    rows=[
        ("[bracketed] ‡", Estimate(0.5, 0.25, 0.75, 8, 8), "≤ 3 × 4", "a|b"),
        ('*star* "quoted"', None, "†", "…"),
    ],
    note="κ is ≥ 0 – mostly.",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    benchmark = Benchmark.open("builtin/amber")
    gold = {q.input: sorted(q.gold_pages()) for q in benchmark.queries}
    for name, seen in (("bm25", ["corpus"]), ("popular", ["corpus", "knowledge base"])):
        system = as_retriever(lambda text, k, name=name: gold[text][: k if name == "popular" else 0])
        description = {"retriever": name, "sees": seen}
        run_retriever(system, benchmark, root / name, k=20, name=name, description=description)
    make_report([root / "bm25", root / "popular"], root / "out.html")
    return root


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex (texlive-latex-recommended)")
def test_tables_compile_in_a_document(report: Path, tmp_path: Path) -> None:
    tables = [f.read_text("utf-8") for f in sorted((report / "out-files").glob("*.tex"))]
    text = DOCUMENT % "\n".join([*tables, ODD.to_latex()])
    (tmp_path / "paper.tex").write_text(text, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "paper.pdf").exists()


def test_figures_have_truetype_fonts(report: Path) -> None:
    figures = sorted((report / "out-files").glob("*.pdf"))
    assert figures
    for figure in figures:
        data = figure.read_bytes()
        assert b"/Type3" not in data and b"/Subtype /Type3" not in data, figure.name
        assert b"/TrueType" in data or b"/CIDFontType2" in data or not re.search(rb"/Font\b", data)


def test_rows_that_saw_more_are_marked_in_every_format(report: Path) -> None:
    for suffix, mark in (("tex", r"popular \ddag{}"), ("md", "popular ‡"), ("csv", "popular ‡")):
        texts = [f.read_text("utf-8") for f in (report / "out-files").glob(f"*.{suffix}")]
        assert sum(mark in text for text in texts) >= 3, suffix
    page = (report / "out.html").read_text("utf-8")
    assert "popular ‡" in page
    assert "‡ saw more than the corpus" in page
    assert "bm25 ‡" not in page
    scores = score_folder(report / "popular")
    assert scores.cautions()[-1].endswith("saw more than the corpus: knowledge base")
    assert replace(scores, sees=("corpus",)).marked == "popular"
