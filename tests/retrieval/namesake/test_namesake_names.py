"""Which names are found in a question, where, and how they are distinguished from ordinary words."""

from __future__ import annotations

import pytest

from whichone.retrieval.namesake.question_names import PageNames, names_one_thing, remainder

NAMES = [
    "Dark River",
    "River",
    "Paul",
    "Paul Walker",
    "Music",
    "What",
    "Her",
    "Grey's Anatomy",
    "Anatomy",
    "Mapy Cortés",
    "AC/DC",
    "This Is Not a Film",
    "1984",
    "capital of Wales",
    "Wales",
    "Polar bear",
    "Philadelphia crime family",
    "Philadelphia",
    "It's a Date",
    "It",
    "If",
    "I",
]
INDEX = PageNames((name, n) for n, name in enumerate(NAMES))


def found(text: str) -> list[str]:
    return [m.name for m in INDEX.find(text) if m.proper]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Who directed Dark River?", ["Dark River"]),
        ("What is Paul Walker's occupation?", ["Paul Walker"]),
        ("Who was Grey’s Anatomy created by?", ["Grey’s Anatomy".replace("’", "'")]),
        ("What type of music does Her play?", ["Her"]),
        ("What music is this?", []),
        ("In what city was Mapy Cortés born?", ["Mapy Cortés"]),
        ("Which band is louder, AC/DC or Music?", ["AC/DC", "Music"]),
        ("Who directed This Is Not a Film?", ["This Is Not a Film"]),
        ("Who wrote 1984?", ["1984"]),
        ("What is the capital of Wales?", ["Wales"]),
        ('Is "polar bear" a cocktail?', ["polar bear"]),
        ("Where was Philadelphia crime family founded?", ["Philadelphia crime family"]),
        ("Is there a philadelphia crime family in Philadelphia?", ["Philadelphia"]),
        ("Who was It's A Date created by?", ["It's A Date"]),
        ("Who was It created by?", ["It"]),
        ("Who wrote Dark River? It is by whom? And what do I do with it?", ["Dark River"]),
        ("River works in the music industry.", ["River"]),
        ("If's author is Paul Walker.", ["If", "Paul Walker"]),
        ("It's the author of Dark River.", ["Dark River"]),
        ("If Paul Walker comes, who wrote 1984?", ["Paul Walker", "1984"]),
        ("", []),
        ("?!", []),
    ],
)
def test_names_written_as_names(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_a_part_of_a_longer_name_is_not_whole() -> None:
    (mention,) = INDEX.find("Where was Paul Brill born?")
    assert (mention.name, mention.whole) == ("Paul", False)
    for text in ("Where was Paul born?", "Where is Paul, IL?"):
        (mention,) = INDEX.find(text)
        assert mention.whole, text


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("Which language was Dark River written in?", True),
        ("What does Paul owe to Paul?", True),
        ("Which language did Zamenhof write Dark River in?", False),
        ("Are Paul and Dark River famous?", False),
        ("Where was Paul Brill born?", False),
        ("Where was he born?", False),
    ],
)
def test_a_question_about_one_name(text: str, alone: bool) -> None:
    assert names_one_thing(text, [m for m in INDEX.find(text) if m.proper]) is alone


def test_lower_case_questions_still_have_names() -> None:
    (mention,) = INDEX.find("who directed dark river")
    assert mention.pages == (0,)


def test_all_bearers_of_a_name() -> None:
    index = PageNames([("John Bell", 4), ("john  bell", 2), ("John Bell", 4), ("", 9)])
    (mention,) = index.find("Where was John Bell born?")
    assert mention.pages == (2, 4)
    assert index.bearers("JOHN BELL") == (2, 4)
    assert index.bearers("") == ()


def test_remainder_is_what_stands_around_the_names() -> None:
    text = "Are Paul Walker and Dark River famous?"
    assert remainder(text, INDEX.find(text)) == ["Are ", " and ", " famous?"]


def test_a_claim_may_open_with_a_name() -> None:
    assert found("Music was performed by Paul Walker.") == ["Music", "Paul Walker"]


def test_the_subject_of_a_slot_is_the_name() -> None:
    (mention,) = INDEX.find("river [SEP] Music")
    assert (mention.name, mention.pages, mention.proper) == ("river", (1,), True)


def test_a_very_long_question() -> None:
    text = "word " * 20_000 + "Dark River?"
    assert [m.name for m in INDEX.find(text) if m.proper] == ["Dark River"]
