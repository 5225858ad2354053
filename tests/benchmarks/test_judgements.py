"""Judgements of TREC and BEIR, in memory and on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks import gold
from whichone.benchmarks.gold import (
    StoredJudgements,
    judgements_of,
    read_beir_qrels,
    read_trec_qrels,
)
from whichone.errors import BadInput


@pytest.mark.parametrize("most", [2, 500_000])
def test_by_query_whatever_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(gold, "IN_MEMORY", most)
    file = tmp_path / "qrels.txt"
    file.write_text("q2 0 a 1\nq1 0 b 0\nq2 0 c 2\n\nq10 0 a 1\nq1 0 b 3\nq2 0 a 0\n")
    judged = read_trec_qrels(file)
    assert isinstance(judged, StoredJudgements) == (most == 2)
    assert judged == {"q2": {"a": 0, "c": 2}, "q1": {"b": 3}, "q10": {"a": 1}}
    assert list(judged["q2"]) == ["a", "c"]
    assert judgements_of(["q10", "none", "q1"], judged) == [{"a": 1}, None, {"b": 3}]
    with pytest.raises(KeyError):
        judged["none"]


@pytest.mark.parametrize("most", [1, 500_000])
def test_beir_names_the_bad_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(gold, "IN_MEMORY", most)
    file = tmp_path / "test.tsv"
    file.write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t2\nq2\ta\tmuch\n")
    with pytest.raises(BadInput, match=r"no whole number: 'much'"):
        read_beir_qrels(file)
