"""AmbER's Table 7 of the built-in world: three readers, each asked its own task, in one table."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import UsageError
from whichone.runs.read import as_reader, run_reader
from whichone.runs.run import Answers
from whichone.runs.shown import setting_for

READERS = """
def _first(passages):
    return (passages[0].title, [passages[0].id]) if passages else None

def roberta(question, passages):
    assert question.endswith("?"), question
    return _first(passages)
roberta.tasks = ("qa",)

def bart(question, passages):
    assert "[SEP]" in question, question
    return _first(passages)
bart.tasks = ("sf",)

def bert(claim, passages):
    assert claim.endswith("."), claim
    return "SUPPORTS"
bert.tasks = ("fc",)
"""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(whichone, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "own_readers.py").write_text(READERS)
    monkeypatch.syspath_prepend(tmp_path)
    yield [f"own_readers:{name}" for name in ("bert", "bart", "roberta")]
    sys.modules.pop("own_readers", None)


def test_three_readers_make_one_table(readers: list[str], tmp_path: Path) -> None:
    retrieved = str(tmp_path / "bm25")
    run("retrieve", "builtin/amber", retrieved, "--retriever", "bm25", "-k", "20")
    answers = []
    for reader in readers:
        for setting in (["--passages", "gold"], ["--passages", "retrieved", "--run", retrieved]):
            place = str(tmp_path / f"{reader[12:]}-{setting[1]}")
            said = run("read", "builtin/amber", place, "--reader", reader, *setting)
            assert "failures" not in said
            answers.append(place)
    run("report", *answers, str(tmp_path / "table.html"))
    with next(tmp_path.rglob("end-to-end.csv")).open() as file:
        rows = list(csv.DictReader(file))
    shown = [(r["collection"], r["task"], r["system"], r["measure"]) for r in rows]
    tasks = {
        "fact checking": ("bert", "accuracy"),
        "slot filling": ("bart", "F1"),
        "question answering": ("roberta", "F1"),
    }
    assert shown == [
        (collection, task, f"{reader}{setting}", measure)
        for collection in ("human", "nonhuman")
        for task, (reader, measure) in tasks.items()
        for setting in (" (gold) ‡", " + bm25")
    ]
    claims = [q for q in Benchmark.open("builtin/amber").queries if q.task == "fc"]
    for row in rows:
        if row["task"] == "fact checking":
            for column in ("all", "head", "tail"):
                asked = [
                    q
                    for q in claims
                    if q.attributes["collection"] == row["collection"] and column in ("all", q.role)
                ]
                right = sum("SUPPORTS" in q.answers() for q in asked) / len(asked)
                assert float(row[column].split()[0]) == pytest.approx(right, abs=0.0051)


def test_one_task_of_a_reader_that_can_do_all(toy_amber, tmp_path: Path) -> None:
    answers = run_reader(
        as_reader(lambda text: "x"),
        toy_amber,
        tmp_path / "sf",
        setting_for(toy_amber, passages="none"),
        tasks=["sf"],
    )
    asked = {q.id for q in toy_amber.queries if q.task == "sf"}
    assert set(answers.answers) == asked
    assert set(Answers.open(tmp_path / "sf").left_out.values()) == {"only the task sf is asked"}
    with pytest.raises(UsageError, match="no question of the task 'el'"):
        run_reader(
            as_reader(lambda text: "x"),
            toy_amber,
            tmp_path / "el",
            setting_for(toy_amber, passages="none"),
            tasks=["el"],
        )


def test_a_reader_is_not_asked_what_it_cannot_do(toy_amber, tmp_path: Path) -> None:
    def claims(text: str) -> str:
        return "REFUTES"

    claims.tasks = "fc"
    with pytest.raises(UsageError, match="cannot do the task qa, only fc"):
        run_reader(
            as_reader(claims),
            toy_amber,
            tmp_path / "qa",
            setting_for(toy_amber, passages="none"),
            tasks=["qa"],
        )


def test_questions_of_every_benchmark_are_question_answering() -> None:
    from whichone.runs.shown import kind_of, not_for_reader

    assert [kind_of(t) for t in ("EntityQuestions", "PopQA", "qa", "fc", "ambigdocs")] == [
        "qa", "qa", "qa", "fc", "ambigdocs",
    ]  # fmt: skip
    simple = Benchmark.open("builtin/entityquestions").queries

    def extractive(text: str) -> str:
        return ""

    extractive.tasks = ("qa", "sf")
    reader = as_reader(extractive)
    assert {not_for_reader(query, reader, ()) for query in simple} == {None}


@pytest.fixture
def toy_amber():
    return Benchmark.open("builtin/amber")
