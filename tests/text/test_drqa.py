"""DrQA's tokens: by hand, and on the spans the released tokeniser gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.text.drqa import decomposed, has_tokens, spans, tokens


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
