"""Shared names in logged questions: a word that is also a name counts where it is used as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.corpus.passage_files import PassageFields
from whichone.report.audit import audit, audit_in_words, likelihoods

TITLES = ("More (song)", "More (magazine)", "John (song)", "John (name)", "Ada Park (poet)", "Ada Park (judge)")  # fmt: skip


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Who is more famous, Bob or Jim?", []),
        ("Who sang More?", ["More"]),
        ("Who was John Smith?", []),
        ("Where was John born?", ["John"]),
        ("where was john born", ["John"]),
        ("where was ada park born", ["Ada Park"]),
        ("Where was Ada Park, not John Smith, born?", ["Ada Park"]),
    ],
)
def test_names_in_questions(tmp_path: Path, question: str, named: list[str]) -> None:
    passages = [{"id": title, "title": title, "text": "x"} for title in TITLES]
    (tmp_path / "passages.jsonl").write_text("\n".join(map(json.dumps, passages)))
    (tmp_path / "log.txt").write_text(question + "\n")
    found = audit(tmp_path / "passages.jsonl", log=tmp_path / "log.txt")
    assert [s.name for s in found.worst if s.questions] == named
    assert found.affected_questions == bool(named)


def test_accents_make_no_other_name(tmp_path: Path) -> None:
    """People write one name both ways, in a list and in a question."""
    people = [("1", "José García"), ("2", "Jose Garcia"), ("3", "Anna Bo")]
    passages = [{"id": n, "title": title, "text": "x"} for n, title in people]
    (tmp_path / "passages.jsonl").write_text("\n".join(map(json.dumps, passages)))
    (tmp_path / "log.txt").write_text("Where was jose garcía born?\n")
    found = audit(tmp_path / "passages.jsonl", log=tmp_path / "log.txt")
    assert (found.shared, found.affected_questions) == (1, 1)
    assert {b.rpartition(" (")[0] for b in found.worst[0].bearers} == {"José García", "Jose Garcia"}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((["Ada Park, poet"], ["Ada Park, judge"]), [0.25, 0.25]),  # the name alone is a draw, a word decides
        ((["Ada Park, poet"], ["Ada Park, poet"]), [0.5, 0.5]),
        ((["Ada Park, poet"], ["Ada Park, poet"], ["Ada Park, poet"]), [2 / 3, 2 / 3, 2 / 3]),
        (
            (["Ada Park, poet"], ["The office of Ada Park of the poet"]),
            [0.0, 1.0],
        ),  # words of a short text weigh more
        ((["Ada Park, poet"], ["Judge"]), [0.0, 1.0]),  # "judge" weighs less than the two words of the name
    ],
)
def test_how_likely_a_name_is_to_be_confused(texts: tuple[list[str], ...], expected: list[float]) -> None:
    assert likelihoods("Ada Park", texts, {"the", "of", "office"}) == pytest.approx(expected, abs=0.02)


def test_what_scores_a_little_less_may_come_first() -> None:
    """The longer text scores less for the name alone, but the rest of a question may move it by as much."""
    longer = "Ada Park is a judge of the north who writes of ships and of sails"
    texts = (["Ada Park is a poet of the north who writes of ships"], [longer])
    one, two = likelihoods("Ada Park", texts)
    assert 0.25 < one < 0.5 < two < 0.75


def test_what_tells_them_apart_and_is_missing(tmp_path: Path) -> None:
    """A field of records tells people apart where each has another value, for all of their documents."""
    staff = [
        ("1", "Payroll", "D7", "Leeds"), ("1", "Payroll", "D7", "Leeds"), ("2", "Legal", None, "Leeds"),
        ("3", "Sales", "D3", "Oslo"),
    ]  # fmt: skip
    passages = [
        {
            "id": f"n{n}", "title": "Bo Lind" if person == "3" else "Ada Park", "text": f"note {n}", "person": person,
            "department": department, "city": city, "number": n, **({"desk": desk} if desk else {}),
        }
        for n, (person, department, desk, city) in enumerate(staff)
    ]  # fmt: skip
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, passages)))
    report = audit(tmp_path / "notes.jsonl", fields=PassageFields(entity="person"))
    (ada,) = report.worst
    assert (ada.tells_apart, ada.missing) == (["department"], ["desk (1 of 2)"])
    # the name alone is a draw; of three words of the one and of two of the other, "note" is a draw, and numbers decide
    assert ada.likely == pytest.approx(((0.5 + 0.5 / 3) / 2 + (0.5 + 0.5 / 2) / 2) / 2, abs=0.01)
    assert ada.lost == "Ada Park (2): 0.38"
    assert "| department | desk (1 of 2) |" in audit_in_words(report)


def test_a_name_with_a_bar_is_one_cell_of_the_page(tmp_path: Path) -> None:
    passages = [{"id": n, "title": "Ada | Park", "text": "x", "person": n} for n in "12"]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, passages)))
    page = audit_in_words(audit(tmp_path / "notes.jsonl", fields=PassageFields(entity="person")))
    (row,) = (line for line in page.splitlines() if line.startswith("| Ada"))
    assert row.count("|") == 10
