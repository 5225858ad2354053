"""Names as people write them find the one they mean, and nobody where they mean nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whichone
from whichone.retrieval.namesake.spelling import (
    deletions,
    folded,
    foldings,
    nicknames,
    short_keys,
    within_one_edit,
)

PEOPLE = [
    ("Paul Walker", "Paul Walker was an American actor."),
    ("Daniel Walker", "Daniel Walker is a pilot."),
    ("José Müller", "José Müller is a baker."),
    ("Robert Lind", "Robert Lind is a poet."),
    ("Фёдор Иванов", "Фёдор Иванов is a miner."),
    ("Edinburgh", "Edinburgh is a city."),
    ("John Ronald Tolkien", "He wrote."),
]


@pytest.fixture(scope="module")
def namesake() -> whichone.Namesake:
    records = [{"id": title, "title": title, "text": text} for title, text in PEOPLE]
    return whichone.Namesake.over(records, encoder="none")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Who is D. Walker?", "Daniel Walker"),
        ("Who is Walker, Paul?", "Paul Walker"),
        ("Who is Walker Paul?", "Paul Walker"),
        ("Who is Bob Lind?", "Robert Lind"),
        ("Who is Jose Muller?", "José Müller"),
        ("Who is Jose Mueller?", "José Müller"),
        ("Who is Fyodor Ivanov?", "Фёдор Иванов"),
        ("Who is Paul Wlaker?", "Paul Walker"),
        ("Who is Paul Waker?", "Paul Walker"),
        ("who is paul waker?", "Paul Walker"),
        ("Where is Edinbrugh?", "Edinburgh"),
        ("What did J. R. Tolkien do?", "John Ronald Tolkien"),
        ("What did John Tolkien do?", "John Ronald Tolkien"),
        ("What about Tolkien?", "John Ronald Tolkien"),
        ("Robert Linds poems", "Robert Lind"),
        ("Who is Paul W. Walker?", "Paul Walker"),
        ("What is the capital of Wales?", None),
        ("Who is Zebulon Quark?", None),
    ],
)
def test_who_is_meant(namesake: whichone.Namesake, text: str, meant: str | None) -> None:
    believed = namesake.resolve(text)
    assert [bearer.title for bearer in believed.bearers] == ([meant] if meant else [])


CATALOGUES = {
    "en": [
        "Margaret Thatcher-Jones",
        "Seán O'Brien",
        "William Carter",
        "Ludwig van Beethoven",
        "Acme Widgets Inc.",
        "The Golden Gate Hotel",
        "X-200 Pump",
        "Mohammed Al-Fayed",
        "Anne-Marie Duval",
    ],
    "de": ["Jürgen Groß", "Hans-Peter Müller", "Friedrich von der Heide", "Katharina Weiß"],
    "fr": ["Jean d'Ormesson", "François L'Hôpital", "Marie-Claire Dubois", "L'Île-Rousse"],
    "es": ["José García Márquez", "María del Carmen López Ruiz", "Francisco Pérez"],
}


@pytest.fixture(scope="module")
def catalogues() -> dict[str, whichone.Namesake]:
    return {
        language: whichone.Namesake.over(
            [{"id": t, "title": t, "text": t} for t in titles], encoder="none", language=language
        )
        for language, titles in CATALOGUES.items()
    }


@pytest.mark.parametrize(
    ("language", "text", "meant"),
    [
        ("en", "Thatcher-Jones, Margaret", "Margaret Thatcher-Jones"),
        ("en", "what does margaret thatcher jones sell", "Margaret Thatcher-Jones"),
        ("en", "Where is Sean OBrien?", "Seán O'Brien"),
        ("en", "What does Mr. Carter bake?", "William Carter"),
        ("en", "Dr Carter's bread", "William Carter"),
        ("en", "Beethoven, Ludwig van", "Ludwig van Beethoven"),
        ("en", "What does Acme Widgets make?", "Acme Widgets Inc."),
        ("en", "Where is Golden Gate Hotel?", "The Golden Gate Hotel"),
        ("en", "price of the X200 pump", "X-200 Pump"),
        ("en", "What does Mohamed Al Fayed own?", "Mohammed Al-Fayed"),
        ("en", "What does Muhammad Al-Fayed own?", "Mohammed Al-Fayed"),
        ("en", "Where does Annemarie Duval teach?", "Anne-Marie Duval"),
        ("de", "Was verkauft Juergen Gross?", "Jürgen Groß"),
        ("de", "Hans Peter Mueller", "Hans-Peter Müller"),
        ("de", "Was backt Herr Müller?", "Hans-Peter Müller"),
        ("de", "von der Heide, Friedrich", "Friedrich von der Heide"),
        ("de", "Was malt Frau Dr. Weiß?", "Katharina Weiß"),
        ("de", "Katharinas Bilder", "Katharina Weiß"),
        ("fr", "Le livre d'Ormesson", "Jean d'Ormesson"),
        ("fr", "Les patients de M. L'Hôpital", "François L'Hôpital"),
        ("fr", "M.-C. Dubois", "Marie-Claire Dubois"),
        ("fr", "Où est l'Ile Rousse ?", "L'Île-Rousse"),
        ("es", "¿Qué escribe José García?", "José García Márquez"),
        ("es", "¿Qué escribe García Márquez?", "José García Márquez"),
        ("es", "¿Qué canta la Sra. López Ruiz?", "María del Carmen López Ruiz"),
        ("es", "¿Qué hornea Paco Pérez?", "Francisco Pérez"),
    ],
)
def test_who_is_meant_in_four_languages(
    catalogues: dict[str, whichone.Namesake], language: str, text: str, meant: str
) -> None:
    assert [bearer.title for bearer in catalogues[language].resolve(text).bearers] == [meant]


def test_a_verb_that_opens_a_sentence_is_no_misspelt_name() -> None:
    records = [{"id": t, "title": t, "text": t} for t in ("Bend", "Lima", "Pay")]
    namesake = whichone.Namesake.over(records, encoder="none")
    for text in ("Send Lima an e-mail.", "Play the song of Lima."):
        assert [hit.id for hit in namesake.search(text, 1)] == ["Lima"]
        assert [bearer.id for bearer in namesake.resolve(text).bearers] == ["Lima"]


def test_a_last_name_alone_is_open(namesake: whichone.Namesake) -> None:
    believed = namesake.resolve("What does Walker do?")
    assert {bearer.title for bearer in believed.bearers} == {"Paul Walker", "Daniel Walker"}
    assert not believed.resolvable


def test_names_that_were_given_or_added_are_found_so_too() -> None:
    records = [{"id": "1", "title": "Ticket", "text": "It is broken.", "entity": "c1"}]
    namesake = whichone.Namesake.over(records, names=[{"id": "c1", "name": "Jürgen Groß"}], encoder="none")
    assert namesake.resolve("What did Juergen Gross say?").bearers[0].id == "c1"
    namesake.add([{"id": "2", "title": "Zofia Łęcka", "text": "Zofia Łęcka is here."}])
    assert namesake.resolve("Where is Zofia Lecka?").bearers[0].title == "Zofia Łęcka"


def test_spelling() -> None:
    assert folded("Łódź") == "Lodz" or folded("łódź") == "lodz"
    assert list(foldings("müller")) == ["muller", "mueller"]
    assert "walke" in set(deletions("walker")) and list(deletions("abc")) == []
    assert nicknames()["bob"] == ("robert",)
    assert list(short_keys(["paul", "walker"])) == [
        "=paulwalker",
        "walker",
        "paul",
        "p walker",
        "paul walker",
    ]
    assert list(short_keys(["edinburgh"])) == []
    assert {"garcia marquez", "jose garcia", "jose marquez"} <= set(short_keys(["josé", "garcía", "márquez"]))
    assert {"=acmewidgetsinc", "=acmewidgets"} <= set(short_keys(["acme", "widgets", "inc"]))
    assert {"=hansmuller", "=hansmueller"} <= set(short_keys(["hans", "-", "müller"]))


words = st.text("abcde", min_size=4, max_size=8)


@given(words, st.integers(0, 7), st.sampled_from("abcde"))
def test_one_edit_is_recognised(word: str, at: int, letter: str) -> None:
    at %= len(word)
    for other in (
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
    ):
        assert within_one_edit(word, other) and within_one_edit(other, word)
        shared = {word, *deletions(word)} & {other, *deletions(other)}
        assert shared or len(other) < 4
    assert not within_one_edit(word, word + "xy")
