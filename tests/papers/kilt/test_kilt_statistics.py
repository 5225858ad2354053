"""Table 6 and Figure 2, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.papers.kilt.kilt_report import datasets_per_page_figure
from whichone.report.show import show_benchmark

FEVER = [
    # two sets of provenance, one of two spans on two pages
    {"id": "1", "input": "c", "output": [
        {"answer": "SUPPORTS", "provenance": [{"wikipedia_id": "1"}, {"wikipedia_id": "2"}]},
        {"answer": "SUPPORTS", "provenance": [{"wikipedia_id": "3"}]}]},
    {"id": "2", "input": "d", "output": [
        {"answer": "REFUTES", "provenance": [{"wikipedia_id": "1"}]}]},
]  # fmt: skip
NQ = [
    {"id": "1", "input": "q", "output": [
        {"answer": "a", "provenance": [{"wikipedia_id": "1", "start_paragraph_id": 4}]},
        {"answer": "b", "provenance": [{"wikipedia_id": "1", "start_paragraph_id": 5}]},
        {"answer": "c"}]},
    {"id": "2", "input": "q", "output": [{"answer": "a"}]},
]  # fmt: skip


def test_table_6_and_figure_2(tmp_path: Path) -> None:
    files = []
    for name, records in (("nq-train", NQ), ("fever-dev", FEVER)):
        files.append(tmp_path / f"{name}-kilt.jsonl")
        files[-1].write_text("".join(json.dumps(r) + "\n" for r in records))
    bench = import_kilt(files, tmp_path / "bench", KiltPlan())
    document, text = show_benchmark(bench)
    fever, nq = document["kilt"]["table_6"]
    assert fever == {
        "dataset": "FEV", "multi-hop": True, "APS": pytest.approx(4 / 3), "APN": 1.5, "APP": 2.0,
        "AAN": 1.0, "train": 0, "dev": 2, "test": 0,
    }  # fmt: skip
    assert nq == {
        "dataset": "NQ", "multi-hop": False, "APS": 1.0, "APN": 2.0, "APP": 1.0,
        "AAN": 2.0, "train": 2, "dev": 0, "test": 0,
    }  # fmt: skip
    assert document["kilt"]["datasets_per_page"] == {1: 2, 2: 1}
    assert "| FEV | x | 1.33 | 1.50 | 2.00 | 1.00 | 0 | 2 | 0 |" in text
    assert "2 in 1, 1 in 2" in text
    assert "3 pages" in datasets_per_page_figure(bench).note
