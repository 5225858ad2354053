"""When two strings count as one name: fixed from the first day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.names import name_key, title_key, without_parentheses


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Abe Lincoln", "abe  LINCOLN"),
        ("Abe_Lincoln", " Abe Lincoln\n"),
        ("Straße", "STRASSE"),
        ("ﬁnd", "find"),
        ("Zoë", "Zoe\u0308"),
        ("Ⅳ", "iv"),
    ],
)
def test_one_name(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ono", "Önö"), ("AC/DC", "ACDC"), ("Her", "Her (film)"), ("O'Neal", "ONeal"), ("", "a")],
)
def test_two_names(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@given(st.text(st.characters(codec="ascii")))
def test_plain_names_are_keyed_as_all_others(text: str) -> None:
    assert name_key(f"{text} é") == f"{name_key(text)} é".strip()


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    assert name_key(name_key(text)) == name_key(text)


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Her (film)", "Her"),
        ("Apple", "Apple"),
        ("John Smith (footballer, born 1955)", "John Smith"),
        ("(What's the Story) Morning Glory?", "Morning Glory?"),
        ("(disambiguation)", "(disambiguation)"),
    ],
)
def test_parentheses_are_removed(title: str, bare: str) -> None:
    assert without_parentheses(title) == bare


def test_titles_with_html_entities_name_the_same() -> None:
    assert title_key("&quot;Q&quot; Is for Quarry (novel)") == title_key('"Q" is for quarry')
