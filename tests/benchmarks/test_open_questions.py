"""NQ-open, WebQuestions, CuratedTREC and DPR's CSV: in, and out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.open_questions import FORMATS, read_open_questions, write_open_questions
from whichone.errors import BadInput, UsageError

EXAMPLES = {
    "nq-open": '{"question": "who wrote it", "answer": ["Ann O\'Neil", "A. \\"Bo\\" C"]}\n',
    "webquestions": '[{"url": "u", "targetValue": "(list (description \\"Ann O\'Neil\\") '
    '(description Bo))", "utterance": "who wrote it"}]',
    "curatedtrec": "T1\tM\twho wrote it\tAnn\\s+O'?Neil|19\\d\\d\n",
    "dpr-csv": "who wrote it\t\"['Ann O\\'Neil', 'Bo']\"\n",
}
ANSWERS = {
    "nq-open": ("Ann O'Neil", 'A. "Bo" C'),
    "webquestions": ("Ann O'Neil", "Bo"),
    "curatedtrec": (r"Ann\s+O'?Neil|19\d\d",),
    "dpr-csv": ("Ann O'Neil", "Bo"),
}


@pytest.mark.parametrize("layout", list(FORMATS))
def test_in_and_out(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "questions"
    path.write_text(EXAMPLES[layout])
    (query,) = read_open_questions(path, layout)
    assert (query.input, query.answers()) == ("who wrote it", ANSWERS[layout])
    assert write_open_questions(tmp_path / "again", [query], layout) == 1
    (again,) = read_open_questions(tmp_path / "again", layout)
    assert again == query


def test_copies_of_webquestions_and_curatedtrec(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text('[{"question": "who", "answers": ["Ann"]}]')
    assert next(read_open_questions(path, "webquestions")).answers() == ("Ann",)
    path.write_text('{"question": "when", "answer": ["19\\\\d\\\\d"]}\n')
    query = next(read_open_questions(path, "curatedtrec"))
    assert query.answers() == (r"19\d\d",)
    assert query.attributes["answers_are"] == "regular expressions"


def test_an_answer_is_never_run_as_code(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("who\t__import__('os').listdir('.')\n")
    with pytest.raises(BadInput, match=r"q\.csv:1: no list of texts"):
        list(read_open_questions(path, "dpr-csv"))


def test_a_typographic_apostrophe_of_the_question_becomes_plain(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("who’s it\t['it’s']\n")
    (query,) = read_open_questions(path, "dpr-csv")
    assert (query.input, query.answers()) == ("who's it", ("it’s",))


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("nq-open", ""),
        ("nq-open", "{}\n"),
        ("nq-open", "[1]"),
        ("nq-open", "{"),
        ("webquestions", '[{"utterance": "x", "targetValue": "(list)"}]'),
        ("curatedtrec", "no tab here\n"),
        ("dpr-csv", "a\tb\tc\n"),
        ("dpr-csv", "a\t[1]\n"),
    ],
)
def test_wrong_files_are_named(layout: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong"
    path.write_text(text)
    with pytest.raises(BadInput, match="wrong"):
        list(read_open_questions(path, layout))


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nq-open"):
        list(read_open_questions(tmp_path, "nq"))
