"""DrQA's tokens: by hand, and on the spans the released tokeniser gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.text.normalisers import contains_any, decomposed, has_tokens, is_sublist, spans, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Abe Lincoln's band", ["abe", "lincoln", "'", "s", "band"]),
        ("C++", ["c", "+", "+"]),
        ("snake_case", ["snake", "_", "case"]),
        ("soft\u00adhyphen", ["soft", "hyphen"]),
        ("zero\u200bwidth", ["zero", "width"]),
        ("ΟΔΟΣ ΟΔΟΣΑ", ["οδος", "οδοσα"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_tokens_by_hand(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected
    assert has_tokens(text) is bool(expected)


def test_sigma_is_final_inside_its_token_only() -> None:
    assert tokens("ΑΣ'Α") == ["ας", "'", "α"]
    assert "ΑΣ'Α".lower() == "ασ'α"


def test_decomposition_is_canonical_only() -> None:
    assert decomposed("é") == "e\u0301"
    assert decomposed("ﬁ²") == "ﬁ²"


def test_spans_as_released(shared: Path) -> None:
    lines = (shared / "golden/entityquestions/tokenizer.jsonl").read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    assert cases
    wrong = [c["text"] for c in cases if [list(s) for s in spans(c["text"])] != c["spans"]]
    assert wrong == []


@given(st.lists(st.text("abΣσς İß-. ", max_size=6), max_size=3), st.text("abΣσς İß-. ", max_size=30))
def test_containing_is_that_of_the_tokens(needles: list[str], text: str) -> None:
    wanted = [tokens(needle) for needle in needles]
    words = tokens(text)
    assert contains_any(wanted, text) == any(w and is_sublist(w, words) for w in wanted)


def test_containing_by_hand() -> None:
    assert contains_any([["new", "york"]], "In New York, 1999")
    assert not contains_any([["new", "york"]], "York is new")
    assert not contains_any([["york"]], "Yorkshire")
    assert not contains_any([[]], "anything")
