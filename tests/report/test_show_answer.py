"""One question of a folder of answers, as a document and as the text that `whichone show` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from two_of_each_name import answers_of_both, benchmark_of_people

from whichone.errors import BadInput, UsageError
from whichone.report.show import show, show_answer
from whichone.runs.read import read
from whichone.runs.retrieve import retrieve
from whichone.runs.run import Answers


@pytest.fixture(scope="module")
def careful(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    place = tmp_path_factory.mktemp("show")
    return answers_of_both(benchmark_of_people(place / "bench"), place)[0]


def test_a_trace_step_by_step(careful: Answers) -> None:
    document, text = show_answer(careful, "q2")
    assert document["input"] == "Where is Ada Park?"
    assert document["answer"] == "Is in Turin."
    assert document["outcome"] == "right"
    assert (document["accepted"], document["other_bearers"]) == (["Turin"], ["Leeds"])
    assert [(step["tool"], step.get("is")) for step in document["trace"]] == [
        ("search", "namesake"),
        ("ask_user", None),
        ("search", "gold"),
    ]
    assert "trace" not in document["notes"]
    lines = text.splitlines()
    assert lines[0] == "Where is Ada Park?"
    assert lines[1] == "  search: Where is Ada Park?"
    assert lines[2].startswith("      namesake first: ")
    assert lines[3:5] == ["  ask_user: Which department?", "      I mean the one with the department Legal."]
    assert lines[6].startswith("      gold first: ")
    assert lines[7:] == [
        "said:      Is in Turin.",
        "outcome:   right",
        "accepted:  Turin",
        "others:    Leeds",
    ]


def test_an_answer_for_a_namesake_and_a_refusal(careful: Answers) -> None:
    assert show_answer(careful, "q4")[0]["outcome"] == "namesake"
    document, text = show_answer(careful, "q3")
    assert (document["answer"], document["outcome"]) == (None, "refused")
    assert "said:      (refused)" in text


def test_passages_that_a_reader_was_shown(tmp_path: Path) -> None:
    benchmark = benchmark_of_people(tmp_path / "bench")
    answers = read(benchmark.folder.root, tmp_path / "out", reader="kb-lookup", passages="gold")
    document, text = show_answer(answers, "q1")
    (shown,) = document["shown"]
    assert (shown["passage"], shown["is"], shown["text"]) == ("staff:1#0", "gold", "Is in Leeds.")
    assert document["trace"] == []
    assert "(staff:1#0): Is in Leeds." in text


def test_a_question_that_is_not_there(careful: Answers) -> None:
    with pytest.raises(BadInput, match=r"no question 'q22'.*(?s:.*)q2"):
        show_answer(careful, "q22")


def test_what_a_retriever_says_of_a_question(tmp_path: Path) -> None:
    """`--explain` adds the reasons to a ranking, and is refused where there is no question to explain."""
    benchmark = benchmark_of_people(tmp_path / "bench")
    root, run = benchmark.folder.root, str(tmp_path / "run")
    retrieve(root, run, retriever="namesake", options={"encoder": "none"}, k=30)
    retrieve(root, tmp_path / "plain", retriever="bm25", k=30)
    document, ranking = show(run, "q1")
    explained = show(run, "q1", explain=True)[1]
    assert explained.startswith(f"{ranking}\n\nAda Park: 2 pages with this name\n")
    assert f"{document['notes']['names'][0]['candidates'][0]['probability']:.0%}" in explained
    assert "\n    - the question says 'Payroll', which nothing here explains" in explained
    assert show(str(tmp_path / "plain"), "q1", explain=True)[1].endswith(
        "the retriever has noted nothing about it"
    )
    with pytest.raises(UsageError, match="one question of a run"):
        show(run, explain=True)
