"""Runs made again from their manifests: to the digit, or with the questions that differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.records import Ranking
from whichone.runs.retrieve import reproduce, retrieve
from whichone.runs.runner import run_retriever


class Changed:
    """BM25's name and options, and another order."""

    def __init__(self, rankings: dict[str, list[str]], parameters: dict[str, object]) -> None:
        self.rankings, self.parameters = rankings, parameters

    def describe(self) -> dict[str, object]:
        return self.parameters

    def search(self, questions, k):
        for q in questions:
            passages = tuple(self.rankings.get(q.id, ())[::-1])
            yield Ranking(
                question=q.id,
                passages=passages,
                scores=tuple(float(-n) for n in range(len(passages))),
            )


def test_a_run_is_made_again(tmp_path: Path) -> None:
    run, command = str(tmp_path / "run"), CliRunner()
    typed = ["retrieve", "builtin/amber", run, "--retriever", "bm25", "-k", "5", "-o", "k1=1.4"]
    assert command.invoke(whichone, typed).exit_code == 0
    said = command.invoke(whichone, ["reproduce", run, "--json"])
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert (document["same"], document["same_order"], document["other_order"]) == (True, True, [])
    again = str(tmp_path / "again")
    assert command.invoke(whichone, ["reproduce", run, again]).exit_code == 0
    with pytest.raises(UsageError, match="something already"):
        reproduce(run, again)


def test_a_run_that_python_made(tmp_path: Path) -> None:
    made = retrieve("builtin/amber", tmp_path / "run", retriever="tfidf", k=3)
    assert reproduce(made.path).same


def test_another_order_is_seen(tmp_path: Path) -> None:
    benchmark = Benchmark.open("builtin/amber")
    honest = retrieve("builtin/amber", tmp_path / "run", retriever="bm25", k=3)
    description = {k: v for k, v in honest.description.items() if k not in ("k", "returns")}
    changed = Changed(honest.ranked_passages(), description)
    made = run_retriever(changed, benchmark, tmp_path / "changed", k=3, name="bm25")
    found = reproduce(made.path, benchmark="builtin/amber")
    several = [q for q, p in honest.ranked_passages().items() if len(p) > 1]
    assert not found.same_order
    assert found.other_order == sorted(several)


def test_a_run_that_does_not_say_how(tmp_path: Path) -> None:
    benchmark = Benchmark.open("builtin/amber")
    made = run_retriever(
        Changed({}, {"retriever": "mine"}), benchmark, tmp_path / "r", k=1, name="m"
    )
    with pytest.raises(BadInput, match="no retriever of whichone"):
        reproduce(made.path)
