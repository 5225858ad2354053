"""Judgements of TREC and BEIR, whatever the number that is sorted in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.gold import Judgements, read_beir_qrels, read_trec_qrels
from whichone.errors import BadInput
from whichone.files import tables


@pytest.mark.parametrize("most", [2, 500_000])
def test_by_query_whatever_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(tables, "SORTED_IN_MEMORY", most)
    file = tmp_path / "qrels.txt"
    file.write_text("q2 0 a 1\nq1 0 b 0\nq2 0 c 2\n\nq10 0 a 1\nq1 0 b 3\nq2 0 a 0\n")
    judged = Judgements(read_trec_qrels(file))
    listed = [judged.of(query) for query in ("q10", "none", "q1", "q2", "", "z")]
    assert listed == [{"a": 1}, None, {"b": 3}, {"a": 0, "c": 2}, None, None]
    assert list(listed[3] or ()) == ["a", "c"]


def test_no_judgements(tmp_path: Path) -> None:
    file = tmp_path / "qrels.txt"
    file.write_text("\n")
    assert Judgements(read_trec_qrels(file)).of("q1") is None


@pytest.mark.parametrize("most", [1, 500_000])
def test_beir_names_the_bad_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(tables, "SORTED_IN_MEMORY", most)
    file = tmp_path / "test.tsv"
    file.write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t2\nq2\ta\tmuch\n")
    with pytest.raises(BadInput, match=r"no whole number: 'much'"):
        Judgements(read_beir_qrels(file))
