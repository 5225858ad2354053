"""Each matcher by hand, and on the values the released programs gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichone.errors import BadInput, UsageError
from whichone.measures.matchers import MATCHERS, MatchedText, find_matcher
from whichone.text.normalisers import normalize

PUBLISHED = {
    "eq_string": "entityquestions",
    "eq_string_title": "string-title",
    "eq_title": "title",
    "dpr_string": "dpr",
    "dpr_regex": "dpr-regex",
    "dpr_kilt": "dpr-kilt",
    "dpr_string_use_title": "dpr-title",
}


def found(matcher: str, answer: str, text: str, title: str = "") -> bool:
    return find_matcher(matcher).prepare([answer]).found_in(MatchedText(title, text))


@pytest.mark.parametrize(
    ("matcher", "answer", "text", "title", "expected"),
    [
        ("dpr", "Askvoll", "born in askvoll, Norway", "", True),
        ("dpr", "Ask", "born in Askvoll", "", False),
        ("dpr", "café", "a cafe\u0301 in Paris", "", True),
        ("dpr", "café", "a café in Paris", "", True),
        ("entityquestions", "café", "a cafe\u0301 in Paris", "", True),
        ("entityquestions", "café", "a café in Paris", "", False),
        ("entityquestions", "ΟΔΟΣ", "οδος 5", "", True),
        ("entityquestions", "İstanbul", "in İSTANBUL", "", True),
        ("dpr", "oslo", "x", "Oslo", False),
        ("dpr-title", "oslo . x", "x", "Oslo", True),
        ("string-title", "oslo x", "x", "Oslo", True),
        ("title", "oslo", "x", " Oslo (city)", True),
        ("title", "oslo", "oslo", "New Oslo", False),
        ("dpr-regex", r"19\d\d", "in 1964", "", True),
        ("dpr-regex", r"(unclosed", "(unclosed", "", False),
        ("dpr-kilt", "the U.S.", "the us army", "", True),
        ("substring", "voll", "Askvoll", "", True),
        ("substring", "VOLL", "Askvoll", "voll", False),
    ],
)
def test_by_hand(matcher: str, answer: str, text: str, title: str, expected: bool) -> None:
    assert found(matcher, answer, text, title) is expected


def test_the_stored_flag_is_returned_and_asked_for() -> None:
    prepared = find_matcher("has-answer").prepare(["x"])
    assert prepared.found_in(MatchedText("", "", True)) is True
    assert prepared.found_in(MatchedText("", "x", False)) is False
    with pytest.raises(BadInput, match="no has_answer flag"):
        prepared.found_in(MatchedText("", "x"))


@pytest.mark.parametrize("name", [n for n in MATCHERS if n != "has-answer"])
def test_an_empty_answer_is_seen_and_no_answers_match_nothing(name: str) -> None:
    matcher = find_matcher(name)
    assert matcher.matches_everything("")
    assert not matcher.matches_everything("Oslo")
    assert matcher.prepare([""]).found_in(MatchedText("any", "thing"))
    assert not matcher.prepare([]).found_in(MatchedText("any", "thing"))


def test_an_article_is_no_answer_for_the_normalised_matcher() -> None:
    assert find_matcher("dpr-kilt").matches_everything("The")


def test_an_unknown_matcher_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="entityquestions"):
        find_matcher("entityquestion")


ARTICLE_PIECES = ["the", "The ", "a", "an ", "he", "t", "e", "n", " ", "-", "'", "\u0301", "é", "K"]
ARTICLE_PIECES += ["\u212a", "İ", "oslo", "Oslo ", ".", "\n", "h", "1"]


@settings(max_examples=500)
@given(*[st.lists(st.sampled_from(ARTICLE_PIECES), max_size=n).map("".join) for n in (4, 8)])
def test_the_normalised_matcher_is_a_substring_of_normalised_text(answer: str, text: str) -> None:
    assert found("dpr-kilt", answer, text) is (normalize(answer) in normalize(text))


def test_as_released(shared: Path) -> None:
    lines = (shared / "golden/entityquestions/has_answer.jsonl").read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    assert cases
    wrong = [
        (name, case["answers"], case["title"], case["text"])
        for case in cases
        for published, name in PUBLISHED.items()
        if find_matcher(name).prepare(case["answers"]).found_in(MatchedText(case["title"], case["text"]))
        is not case["expect"][published]
    ]
    assert wrong == []
