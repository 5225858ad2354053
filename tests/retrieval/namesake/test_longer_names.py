"""Pages with a longer form of a name, or a nickname, are weighed where they have more of what is asked."""

from __future__ import annotations

import pytest

import whichone
from whichone.retrieval.namesake.loose_names import has_other_form, is_longer_form, name_words


@pytest.mark.parametrize(
    ("title", "opening", "has"),
    [
        ("John F. Kennedy", "", True),
        ("Sir John Kennedy, 1st Baronet", "", True),
        ("John Kennedy Jr.", "", True),
        ("Jack Kennedy (pilot)", "", True),
        ("J. Kennedy", "John Peter Kennedy was a poet.", True),
        ("John Kennedy Toole", "", False),
        ("Jane Kennedy", "Jane Ann Kennedy was a poet.", False),
        ("John Fitzgerald Francis Xavier Kennedy", "", False),
    ],
)
def test_other_forms_of_a_name(title: str, opening: str, has: bool) -> None:
    assert has_other_form(title, lambda: opening, "en", name_words("John Kennedy")) is has


def test_a_single_word_or_a_number_has_no_longer_form() -> None:
    assert not is_longer_form(name_words("West York"), ["york"])
    assert not is_longer_form(name_words("Mega Falcon 200"), name_words("Falcon 200"))


@pytest.fixture(scope="module")
def people() -> whichone.Namesake:
    texts = [
        ("Ada Park", "Ada Park is a baker from Leeds."),
        ("Ada M. Park", "Ada M. Park is a notary from Turin."),
        ("Bo Lind", "Bo Lind is a pilot."),
    ]
    records = [{"id": title, "title": title, "text": text} for title, text in texts]
    return whichone.Namesake.over(records, encoder="none")


def test_what_is_said_of_the_longer_name_is_meant(people: whichone.Namesake) -> None:
    assert people.search("What does Ada Park from Turin do?", 1)[0].id == "Ada M. Park"
    assert people.search("What does Ada Park from Leeds do?", 1)[0].id == "Ada Park"
    assert people.search("What does Ada Park do?", 1)[0].id == "Ada Park"


def test_without_it_nobody_is_asked_back(people: whichone.Namesake) -> None:
    (only,) = people.resolve("What does Ada Park do?").bearers
    assert only.id == "Ada Park"
    first, second = people.resolve("What does Ada Park from Turin do?").bearers
    assert (first.id, second.id) == ("Ada M. Park", "Ada Park")
    assert "has only another form of the name" in first.speaks_against
