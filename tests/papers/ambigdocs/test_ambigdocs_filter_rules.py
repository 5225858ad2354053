from pathlib import Path

import msgspec
import pytest

from whichone.files.lines import read_json_lines
from whichone.papers.ambigdocs.properties import Draft, Status, failed_rule, filter_limits, short_answer

TITLES = ("Foo Bar (film)", "Foo Bar (novel)")


def status(draft: Draft, *, entailed: bool, limit_stops: bool = False) -> Status:
    """The fate of a draft; `limit_stops` adds the format rule of the released fine-tuned writer, which also cuts
    its second answer where it begins to ramble."""
    if limit_stops:
        first, second = draft.answers
        if max(first.count("."), second.count(".")) > filter_limits().most_full_stops:
            return Status.BAD_FORMAT
        draft = msgspec.structs.replace(draft, answers=(first, second.split(". ")[0]))
    if failed_rule(draft) is not None:
        return Status.RULE
    return Status.KEPT if entailed else Status.NOT_ENTAILED


def test_golden_statuses(shared: Path) -> None:
    rows = [row for _, row in read_json_lines(shared / "golden/ambigdocs/filter_rules.jsonl")]
    assert rows
    for row in rows:
        draft = Draft(row["surface"], (row["t1"], row["t2"]), row["question"], (row["a1"], row["a2"]))
        found = status(draft, entailed=bool(row["nli_entails"]), limit_stops=row["script"] == "llama")
        assert found == row["status"], row


@pytest.mark.parametrize(
    ("question", "answers", "rule"),
    [
        ("Who wrote Foo Bar?", ("Ann", "Bob"), None),
        ("Who wrote Foo Bar (film)?", ("Ann", "Bob"), "title in the question"),
        ("Which entity is Foo Bar?", ("Ann", "Bob"), "question about its making"),
        ("Who wrote Foo Bar?", ("no mention", "Bob"), "answer about its making"),
        ("Who wrote Foo Bar?", ("Ann", "ann lee"), "one answer inside the other"),
        ("Who wrote Foo Bar?", ("", "Bob"), "one answer inside the other"),
        ("Who wrote Foo Bar?", ("a b c d e f g", "g a b c d e f"), "answers too alike"),
    ],
)
def test_failed_rule(question: str, answers: tuple[str, str], rule: str | None) -> None:
    assert failed_rule(Draft("Foo Bar", TITLES, question, answers)) == rule


def test_both_titles_without_the_name() -> None:
    draft = Draft("Foo", ("the film", "zzz"), "the film, zzz?", ("Ann", "Bob"))
    assert failed_rule(draft) == "both titles and no name in the question"


def test_answers_with_many_full_stops_are_badly_formed_for_the_fine_tuned_writer() -> None:
    draft = Draft("Foo Bar", TITLES, "Who wrote Foo Bar?", ("a.b.c.d.e", "Bob"))
    assert status(draft, entailed=True) is Status.KEPT
    assert status(draft, entailed=True, limit_stops=True) is Status.BAD_FORMAT


@pytest.mark.parametrize(
    ("text", "answer"),
    [(" Paris. ", "Paris"), ("", None), (".", None), ("a. b. c. d.", None), ("U.S.A", "U.S.A")],
)
def test_short_answer(text: str, answer: str | None) -> None:
    assert short_answer(text) == answer
