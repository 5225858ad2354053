"""Shared names in logged questions: a word that is also a name counts where it is used as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.report.audit import audit

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
