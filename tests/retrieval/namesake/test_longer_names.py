"""Pages that have another form of a name are bearers of it: further words, nicknames, signs, ends of companies."""

from __future__ import annotations

import pytest

import whichone
from whichone.retrieval.namesake.question_names import is_longer_form, name_words
from whichone.retrieval.namesake.spelling import carries


@pytest.mark.parametrize(
    ("longer", "has"),
    [
        ("John F. Kennedy", True),
        ("Sir John Kennedy, 1st Baronet", True),
        ("John Kennedy Jr.", True),
        ("John Kennedy Toole", False),
        ("Jane Ann Kennedy", False),
        ("John Fitzgerald Francis Xavier Kennedy", False),
    ],
)
def test_longer_forms_of_a_name(longer: str, has: bool) -> None:
    assert is_longer_form(name_words(longer), name_words("John Kennedy")) is has


def test_a_single_word_or_a_number_has_no_longer_form() -> None:
    assert not is_longer_form(name_words("West York"), ["york"])
    assert not is_longer_form(name_words("Mega Falcon 200"), name_words("Falcon 200"))


TITLES = {
    "John Kennedy (politician)": "John Kennedy is a politician.",
    "John F. Kennedy": "John Fitzgerald Kennedy was an American president.",
    "Jack Kennedy": "Jack Kennedy was a pilot.",
    "Slim Brookes": "Charles Wilson, better known as Slim Brookes, was an outlaw.",
    "Charles Wilson, 1st Baron Moran": "He was a physician.",
    "Chuck Wilson": "Chuck Wilson was a swimmer.",
    "Napolioni Vono": "Napolioni Vono, known to supporters as Napoleon, is a rugby player.",
    "Napoleon": "Napoleon was an emperor.",
    "If....": "If.... is a film.",
    "If": "If is a band.",
    "Vertigo Records": "Vertigo Records is a company.",
    "Vertigo": "Vertigo is a film.",
    "The Apple": "The Apple is a film.",
    "Apple Inc.": "Apple Inc. is a company.",
    "Apple": "Apple is a band.",
    "Ada M. Park": "Ada M. Park is a notary from Turin.",
    "Ada Park": "Ada Park is a baker from Leeds.",
    "Dawn Day": "Dawn Day may refer to:\nDawn Day (singer), an English singer\nOla Berg, a poet of that name",
    "Dawn Day (singer)": "Dawn Day is a singer.",
    "Ola Berg": "Ola Berg is a poet.",
    "Edinburgh Castle": "Edinburgh Castle is a castle.",
}


@pytest.fixture(scope="module")
def people() -> whichone.Namesake:
    records = [{"id": title, "title": title, "text": text} for title, text in TITLES.items()]
    return whichone.Namesake.over(records, encoder="none")


@pytest.mark.parametrize(
    ("name", "bearers"),
    [
        ("John Kennedy", {"John Kennedy (politician)", "John F. Kennedy", "Jack Kennedy"}),
        ("Charles Wilson", {"Slim Brookes", "Charles Wilson, 1st Baron Moran", "Chuck Wilson"}),
        ("Napoleon", {"Napoleon", "Napolioni Vono"}),
        ("If", {"If", "If...."}),
        ("Vertigo", {"Vertigo", "Vertigo Records"}),
        ("Apple", {"Apple", "Apple Inc.", "The Apple"}),
        ("Dawn Day", {"Dawn Day (singer)", "Ola Berg"}),
        ("Edinburgh Castle", {"Edinburgh Castle"}),
    ],
)
def test_every_bearer_is_a_candidate(people: whichone.Namesake, name: str, bearers: set[str]) -> None:
    assert {b.title for b in people.resolve(f"Is it true of {name}?").bearers} == bearers


def test_a_page_that_lists_bearers_is_no_answer(people: whichone.Namesake) -> None:
    assert people.search("Who is Dawn Day?", 1)[0].id == "Dawn Day (singer)"


def test_what_is_said_of_the_longer_name_is_meant(people: whichone.Namesake) -> None:
    assert people.search("What does Ada Park from Turin do?", 1)[0].id == "Ada M. Park"
    assert people.search("What does Ada Park from Leeds do?", 1)[0].id == "Ada Park"
    assert people.search("What does Ada Park do?", 1)[0].id == "Ada Park"
    first = people.resolve("What does Ada Park from Turin do?").bearers[0]
    assert "has only another form of the name" in first.speaks_against


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("War & Sand", "War and Sand (novel)"),
        ("Rocky 2", "Rocky II"),
        ("Ten Things", "10 Things"),
        ("St. Odo", "Saint Odo"),
        ("Doctor Know", "Dr. Know"),
        ("Color Field", "Colour Field"),
        ("Star Trip", "Star Trip: The Beginning"),
        ("Dracula", "Bram Stoker's Dracula (1992 film)"),
        ("Vega", "Lake Vega"),
        ("Vega", "City of Vega"),
        ("Vega", "Vega County, Texas"),
        ("J. Paul Lane", "John Paul Lane"),
        ("John Paul Lane", "J. Paul Lane"),
        ("Tommy Roy", "Tom Roy"),
    ],
)
def test_kinds_of_names_that_are_written_in_several_ways(name: str, title: str) -> None:
    records = [
        {"id": "gold", "title": title, "text": f"{title.partition(' (')[0]} is one thing."},
        {"id": "x", "title": f"{name} (song)", "text": f"{name} is a song."},
        {"id": "y", "title": f"{name} (film)", "text": f"{name} is a film."},
    ]
    believed = whichone.Namesake.over(records, encoder="none").resolve(f"Where was {name} made?")
    assert "gold" in [bearer.id for bearer in believed.bearers]


PAIRS = [
    ("Corvane", "Corvane is a river.", "The Lay of Corvane", "is a 1921 novel by Ole Brandt.", "Who is the author of"),
    ("Hektor Brandt", "It is a village.", "Hector Brandt", "is a footballer of Kesh.", "Which team has"),
    ("Saint Osla", "It is a film.", "Cathedral of St. Osla, Kesh", "is a church in Kesh.", "In what city is"),
    ("Dorrit Two", "It is a comet.", "Dorrit II: The Return", "is a film by Pia Lund.", "Who directed"),
    ("Lady Mirel", "A horse.", "Mirel of Kesh", "(1501-1560), a lady of the court, was a poet.", "Where was"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "title", "about", "asks"), PAIRS)
def test_a_page_that_only_carries_the_name_is_a_bearer_where_it_fits(
    name: str, text: str, title: str, about: str, asks: str
) -> None:
    records = [
        {"id": "1", "title": name, "text": text},
        {"id": "2", "title": title, "text": f"{title} {about}"},
    ]
    records += [{"id": f"f{n}", "title": f"Filler {n}", "text": f"Filler {n} is a town."} for n in range(9)]
    namesake = whichone.Namesake.over(records, encoder="none")
    assert {b.id for b in namesake.resolve(f"{asks} {name}?").bearers} == {"1", "2"}
    assert [b.id for b in namesake.resolve(f"{asks} Filler 3?").bearers] == ["f3"]


@pytest.mark.parametrize(
    ("name", "title", "opening", "how"),
    [
        ("IBM", "International Business Machines", "It is a company", 1.0),
        ("Bobby Lee Kern", "Robert L. Kern", "Robert L. Kern is", 1.0),
        ("Kesh Bank", "Kesh (Orland)", "Kesh is a town with a bank", 0.5),
        ("Ada Moss", "Violet", "Violet is a song by Ada Moss", 0.25),
        ("Ada Moss", "Ada Berg", "Ada Berg is a nurse", 0.0),
    ],
)
def test_how_closely_a_page_carries_a_name(name: str, title: str, opening: str, how: float) -> None:
    assert carries(name, title, opening) == how


ELGINS = [
    {"id": "1", "title": "Elgin", "text": "Elgin has 114,797 inhabitants. It was founded in 1835."},
    {"id": "2", "title": "Elgin", "text": "Elgin, of a population of 24,760, was established in 1136."},
    {"id": "3", "title": "Elgin", "text": "Elgin is a place."},
]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Where is the largest Elgin?", "1"),
        ("Where is Elgin, the one with the lowest population?", "2"),
        ("Where is the oldest Elgin?", "2"),
        ("Wo liegt das größte Elgin?", "1"),
        ("Où est le plus petit Elgin ?", "2"),
        ("¿Dónde está el Elgin más antiguo?", "2"),
    ],
)
def test_superlatives_compare_the_bearers(text: str, meant: str) -> None:
    believed = whichone.Namesake.over(ELGINS, encoder="none").resolve(text)
    assert believed.best is not None and believed.best.id == meant


def test_a_superlative_of_a_date_or_an_attribute() -> None:
    people = [
        {"id": "1", "title": "Ada Park", "text": "Badge 1", "birth date": "1950-05-03", "salary": "20"},
        {"id": "2", "title": "Ada Park", "text": "Badge 2", "birth date": "1950-05-19", "salary": "40"},
    ]
    namesake = whichone.Namesake.over(people, encoder="none")
    for asked, meant in (
        ("oldest Ada Park", "1"),
        ("youngest Ada Park", "2"),
        ("Ada Park with the highest salary", "2"),
    ):
        best = namesake.resolve(f"Which badge has the {asked}?").best
        assert best is not None and best.id == meant, asked
