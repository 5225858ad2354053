"""Kinds, relations and question words of German, French and Spanish, on openings of real pages.

The openings are those of the pages named, from Wikipedia in these languages (CC BY-SA 4.0).
"""

from __future__ import annotations

import pytest

import whichone
from whichone.retrieval.namesake.knowledge_evidence import LANGUAGES, RelationTable

OPENINGS = [
    (
        "de", "Arthur Schopenhauer", "person",
        ("Arthur Schopenhauer (* 22. Februar 1788 in Danzig; † 21. September 1860 in Frankfurt am Main) war ein "
        "deutscher Philosoph und Hochschullehrer."),
    ),
    (
        "de", "Berlin", "place",
        ("Berlin ist Hauptstadt und als Land eine parlamentarische Republik sowie ein teilsouveräner Gliedstaat der "
        "Bundesrepublik Deutschland."),
    ),
    (
        "fr", "Antoine Meillet", "person",
        ("Paul Jules Antoine Meillet, né le 11 novembre 1866 à Moulins (Allier) et mort le 21 septembre 1936 à "
        "Châteaumeillant (Cher), est le principal linguiste français des premières décennies du XXe siècle."),
    ),
    ("fr", "Berlin", "place", "Berlin est la capitale et la plus grande ville d'Allemagne."),
    (
        "es", "Berlín", "place",
        "Berlín (en alemán: Berlin) es la capital de Alemania y uno de los dieciséis estados federados alemanes.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("language", "title", "kind", "text"), OPENINGS)
def test_the_kind_of_a_real_page(language: str, title: str, kind: str, text: str) -> None:
    assert kind in RelationTable.load(language).kinds_of(title, text)


@pytest.mark.parametrize(
    ("language", "question", "relation"),
    [
        ("de", "Wo wurde  geboren?", "born"),
        ("de", "Wer führte Regie bei ?", "director"),
        ("fr", "Où est né  ?", "born"),
        ("fr", "Qui a réalisé  ?", "director"),
        ("es", "¿Dónde nació ?", "born"),
        ("es", "¿Quién escribió ?", "author"),
        ("en", "Where was  born?", "born"),
    ],
)
def test_what_a_question_asks_for(language: str, question: str, relation: str) -> None:
    assert [r.name for r in RelationTable.load(language).asked([question])] == [relation]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tables_speak_of_the_same_kinds(language: str) -> None:
    table, english = RelationTable.load(language), RelationTable.load()
    kinds = {kind for listed in table.kinds.values() for kind in listed}
    assert kinds <= {kind for listed in english.kinds.values() for kind in listed}
    assert all(set(relation.kinds) <= kinds for relation in table.relations)
    assert table.language.openers and table.language.head_ends


def test_a_language_without_a_table_counts_nothing() -> None:
    table = RelationTable.load("fi")
    assert table.kinds_of("Berliini", "Berliini on Saksan pääkaupunki.") == frozenset()
    assert table.asked(["Missä syntyi ?"]) == []


FILMS = {
    "de": (
        "Wo wurde Paul Brandt geboren?",
        ("Paul Brandt war ein deutscher Philosoph.", "Paul Brandt ist ein Film aus dem Jahr 1990."),
    ),
    "fr": (
        "Où est né Paul Brandt ?",
        ("Paul Brandt est un peintre français.", "Paul Brandt est un film sorti en 1990."),
    ),
    "es": (
        "¿Dónde nació Paul Brandt?",
        ("Paul Brandt fue un pintor español.", "Paul Brandt es una película de 1990."),
    ),
}


@pytest.mark.parametrize("language", FILMS)
def test_kinds_decide_in_every_language(language: str) -> None:
    question, (person, film) = FILMS[language]
    records = [
        {"id": "film", "title": "Paul Brandt", "text": film},
        {"id": "person", "title": "Paul Brandt", "text": person},
    ]
    namesake = whichone.Namesake.over(records, encoder="none", language=language)
    assert namesake.search(question, 1)[0].id == "person"
    assert namesake.describe()["bm25"]["stemmer"] != "porter"
