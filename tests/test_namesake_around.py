"""`whichone.Namesake.around`: a search that exists already, widened and re-ordered."""

from __future__ import annotations

from typing import Any

import pytest

import whichone
from whichone.errors import BadInput, WhichoneError

TICKETS = [
    {"id": "t1", "entity": "c1", "text": "The printer of Ada Park prints nothing."},
    {"id": "t2", "entity": "c2", "text": "Ada Park: the scanner in Turin sings."},
    {"id": "t3", "entity": "c3", "text": "The coffee machine of Bo Lind hisses."},
]
PEOPLE = [
    {"id": "c1", "name": "Ada Park", "aliases": ["The Boss"], "city": "Leeds"},
    {"id": "c2", "name": "Ada Park", "city": "Turin"},
]


def words(text: str, k: int) -> list[dict[str, Any]]:
    """A search by shared words that returns nothing without one."""
    asked = set(text.lower().replace("?", "").split())
    scored = [(len(asked & set(t["text"].lower().rstrip(".").split())), t) for t in TICKETS]
    return [t for score, t in sorted(scored, key=lambda p: -p[0]) if score][:k]


def test_the_places_of_bearers_change_hands_and_no_others() -> None:
    around = whichone.Namesake.around(words, names=PEOPLE)
    assert around.sees == ("corpus", "knowledge base")
    asked = "the printer of Ada Park from Turin"
    assert [t["id"] for t in words(asked, 3)] == ["t1", "t2", "t3"]
    assert [t["id"] for t in around.search(asked, 3)] == ["t2", "t1", "t3"]
    assert around.search(asked, 1) == [TICKETS[1]]
    alone = "the coffee machine of Bo Lind"
    assert around.search(alone, 3) == words(alone, 9)[:3]


def test_bearers_that_the_search_had_not_returned_are_fetched() -> None:
    asked: list[str] = []

    def narrow(text: str, k: int) -> list[dict[str, Any]]:
        asked.append(text)
        return [t for t in TICKETS if t["id"] == ("t2" if "Turin" in text else "t1")]

    around = whichone.Namesake.around(narrow, names=PEOPLE)
    found = around.search("Ada Park in turin", 2)
    assert [t["id"] for t in found] == ["t2", "t1"]
    assert asked == [
        "Ada Park in turin",
        "Ada Park in turin Ada Park Leeds",
        "Ada Park in turin Ada Park Turin",
    ]


def test_who_is_meant_judged_by_results() -> None:
    around = whichone.Namesake.around(words, names=PEOPLE)
    believed = around.resolve("Tell me about Ada Park.", TICKETS)
    assert not believed.resolvable
    assert believed.question == "Which Ada Park: the one from Leeds, the one from Turin, or another?"
    decided = around.resolve("Tell me about Ada Park.", TICKETS, answer="Turin")
    assert decided.best is not None and decided.best.id == "c2"


def test_texts_and_what_is_no_result() -> None:
    around = whichone.Namesake.around(lambda text, k: ["one text", "another text"])
    assert around.search("one", 2) == ["one text", "another text"]
    people = [
        {"id": "c1", "name": "Ada Park", "city": "Leeds"},
        {"id": "c2", "name": "Ada Park", "city": "Turin"},
    ]
    found = [{"text": "A note on Ada Park."}, {"entity": "c1", "text": "A note on Ada Park."}]
    around = whichone.Namesake.around(lambda text, k: found, names=people)
    assert (
        sorted(around.search("Ada Park", 5), key=len) == found
    )  # each once, without ids, for three searches
    broken = whichone.Namesake.around(lambda text, k: [1, 2])
    with pytest.raises(BadInput, match="result 0 has no text"):
        broken.search("one", 2)


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda a: a(lambda text, k: None).search("one"), "the search returned None"),
        (lambda a: a(lambda text, k: None).resolve("one"), "the search returned None"),
        (lambda a: a(lambda text, k: 5).search("one"), "the search returned 5"),
        (lambda a: a(lambda text, k: []).search("one", 0), "k is 0"),
        (lambda a: a(lambda text, k: []).search(None), "a question is a text"),
        (lambda a: a(lambda text, k: [], wider=1.5), "wider is 1.5"),
        (lambda a: a(lambda text, k: [], names=5), "names are a list of records"),
        (lambda a: a(5), "a search is a function"),
        (lambda a: a(None).resolve("one"), "there is no search"),
        (lambda a: a(None).rerank("one", None), "the results are None"),
        (lambda a: a(None).resolve("one", 5), "the results are 5"),
        (lambda a: a(None).resolve("one", [], answer=5), "an answer is a text"),
    ],
)
def test_mistakes_around_a_search(mistake: Any, says: str) -> None:
    with pytest.raises(WhichoneError, match=says):
        mistake(whichone.Namesake.around)


@pytest.mark.parametrize(
    "text", ["the printer of Juergen Gross (Turin)", "J. Groß from Turin", "Herr Groß, nicht Leeds"]
)
def test_a_search_that_does_not_know_a_spelling(text: str) -> None:
    """Who has the name is searched for by the name as it was given, and goes first."""
    people = [
        {"id": "c1", "name": "Jürgen Groß", "city": "Leeds"},
        {"id": "c2", "name": "Jürgen Groß", "city": "Turin"},
    ]
    files = [
        {"id": "t0", "text": "the printer of somebody else"},
        {"id": "t1", "entity": "c1", "text": "note of Jürgen Groß"},
        {"id": "t2", "entity": "c2", "text": "memo of Jürgen Groß"},
    ]

    def by_words(question: str, k: int) -> list[dict[str, str]]:
        wanted = set(question.split())
        ranked = sorted(files, key=lambda file: -len(wanted & set(file["text"].split())))
        return [file for file in ranked if wanted & set(file["text"].split())][:k]

    around = whichone.Namesake.around(by_words, names=people, language="de")
    assert around.search(text, 1)[0]["id"] == "t2"
