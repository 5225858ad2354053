"""The part of a report that is about agents, over two agents whose every answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from two_of_each_name import answers_of_both, benchmark_of_people

from whichone.benchmarks.benchmark import Benchmark
from whichone.report.answer_sections import asking_section, outcome_section, trace_section
from whichone.runs.run import Answers


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return benchmark_of_people(tmp_path_factory.mktemp("people") / "bench")


@pytest.fixture(scope="module")
def answers(benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> list[Answers]:
    return answers_of_both(benchmark, tmp_path_factory.mktemp("answers"))


def values(row: list[Any]) -> list[Any]:
    return [getattr(cell, "value", cell) for cell in row]


def test_six_outcomes(benchmark: Benchmark, answers: list[Answers]) -> None:
    section = outcome_section(answers, benchmark)
    assert section is not None
    (table,) = section.tables
    assert table.columns == [
        "system", "right", "right for several", "asked back", "refused", "for a namesake", "wrong otherwise",
    ]  # fmt: skip
    assert [values(row) for row in table.rows] == [
        ["careful", 0.5, 0.0, 0.0, 0.25, 0.25, 0.0],
        ["hasty", 0.5, 0.0, 0.0, 0.0, 0.5, 0.0],
    ]


def test_when_it_asks_back(benchmark: Benchmark, answers: list[Answers]) -> None:
    section = asking_section(answers, benchmark)
    assert section is not None
    (table,) = section.tables
    assert table.columns == [
        "system", "asked when needed", "asked when not", "right", "right when needed", "right after one turn",
        "for a namesake", "turns a right answer",
    ]  # fmt: skip
    assert [values(row) for row in table.rows] == [
        ["careful", 1.0, 0.0, 0.5, 0.5, 0.5, 0.25, "1.00"],
        ["hasty", 0.0, 0.0, 0.5, 0.0, None, 0.5, "0.00"],  # it never asked
    ]
    (figure,) = section.figures
    assert figure.key == "asking"
    assert "careful" in figure.svg and "hasty" in figure.svg


def test_without_questions_marked_so_there_is_nothing_on_asking(tmp_path: Path) -> None:
    benchmark = benchmark_of_people(tmp_path / "bench", marked=False)
    assert asking_section(answers_of_both(benchmark, tmp_path), benchmark) is None


def test_how_confusion_came_in(benchmark: Benchmark, answers: list[Answers]) -> None:
    section = trace_section(answers, benchmark)
    assert section is not None
    pieces = section.html.split("<details>")[1:]
    assert [piece.partition("</summary>")[0] for piece in pieces] == [
        "<summary>careful: Where is Ada Park?",
        "<summary>careful: Where is Bo Lind?",
        "<summary>hasty: Where is Ada Park?",
        "<summary>hasty: Where is Bo Lind?",
    ]
    mended = pieces[0]
    assert mended.index("namesake first") < mended.index("ask_user: Which department?")
    assert mended.index("I mean the one with the department Legal.") < mended.index("gold first")
    assert "said: Is in Turin.; accepted: Turin; of namesakes: Leeds</p>" in mended
    assert "said: Is in Oslo.; accepted: Porto; of namesakes: Oslo</p>" in pieces[1]
    assert not section.on_paper


def test_without_confusion_there_is_nothing_to_show(benchmark: Benchmark) -> None:
    assert trace_section([], benchmark) is None
    assert outcome_section([], benchmark) is None
