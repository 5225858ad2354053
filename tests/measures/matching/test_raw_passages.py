"""Searching raw JSON must find exactly what decoding every passage finds."""

from __future__ import annotations

import json
import sys
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichone.measures.matchers import TokenMatcher, find_matcher
from whichone.papers.entityquestions.top_k import RawPassage, needle, ranks_with_answer

TOKEN_MATCHERS = ["dpr", "dpr-title", "entityquestions", "string-title"]
PIECES = [
    *["oslo", "Oslo", "os", "lo", "OSLO", "Oslo", "ба", "é", "e\u0301", "\u0301", "İ", "i\u0307"],
    *["ΟΔΟΣ", "οδος", "K", "\u212a", "ki", "n", "b", "u00e9", "\\", '"', "\n", "\t", "\u00ad"],
    *["-", "_", ".", ",", "'", " ", " ", " ", "1964", "A", "null", "😀", "\u2028", "ß", "ss"],
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def written(text: str, style: str) -> bytes:
    """One string as different programs write it to JSON."""
    if style == "escape-all":
        return ('"' + "".join(f"\\u{ord(c):04X}" for c in text if ord(c) < 0x10000) + '"').encode()
    return json.dumps(text, ensure_ascii=style == "ascii").encode()


def decoded(matcher: TokenMatcher, answers: list[str], passages: list[RawPassage]) -> list[int]:
    prepared = matcher.prepare(answers)
    return [n for n, p in enumerate(passages) if prepared.found_in(p.passage())]


@settings(max_examples=400)
@given(
    st.sampled_from(TOKEN_MATCHERS),
    st.lists(texts, min_size=1, max_size=3),
    st.lists(st.tuples(texts, texts), min_size=1, max_size=4),
    st.sampled_from(["ascii", "utf-8", "escape-all"]),
)
def test_raw_search_equals_decoding(
    name: str, answers: list[str], pairs: list[tuple[str, str]], style: str
) -> None:
    matcher = find_matcher(name)
    assert isinstance(matcher, TokenMatcher)
    raw = [
        RawPassage(msgspec.Raw(written(text, style)), msgspec.Raw(written(title, style)))
        for title, text in pairs
    ]
    prepared = matcher.prepare(answers)
    assert ranks_with_answer(prepared, raw) == decoded(matcher, answers, raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'"\\u004fslo"',
        b'"in\\nOslo"',
        b'"\\u00e9 Oslo\\u0020"',
        b'"(oslo)"',
        b'"\\tOSLO\\t"',
        b'"\\u2013oslo\\u2013"',
    ],
)
def test_an_answer_beside_an_escape_is_found(raw: bytes) -> None:
    prepared = find_matcher("dpr").prepare(["Oslo"])
    assert ranks_with_answer(prepared, [RawPassage(msgspec.Raw(raw))]) == [0]


def test_a_null_title_is_no_word() -> None:
    prepared = find_matcher("string-title").prepare(["null"])
    passage = RawPassage(msgspec.Raw(b'"text"'), msgspec.Raw(b"null"))
    assert ranks_with_answer(prepared, [passage]) == []


def test_no_passages_no_hits() -> None:
    prepared = find_matcher("dpr").prepare(["Oslo"])
    assert ranks_with_answer(prepared, []) == []


def test_only_the_kelvin_sign_turns_into_an_ascii_letter_or_digit() -> None:
    """The claim on which the byte search rests, tried on every character there is."""
    turning = set()
    for code in range(128, sys.maxunicode + 1):
        character = chr(code)
        for form in (character.lower(), unicodedata.normalize("NFD", character).lower()):
            first, rest = form[:1], form[1:]
            letter = first.isascii() and first.isalnum()
            if letter and not (rest and unicodedata.category(rest[0]).startswith("M")):
                turning.add(character)
            if any(c.isascii() and c.isalnum() for c in rest):
                turning.add(character)
    assert turning == {"\u212a"}


def test_the_needle_leaves_out_a_letter_that_may_be_composed() -> None:
    assert needle(unicodedata.normalize("NFD", "Bakoé")).piece == b"bako"  # type: ignore[union-attr]
    assert needle("東京") is None
