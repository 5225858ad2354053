"""What questions ask for, and what pages are about."""

from __future__ import annotations

import pytest

from whichone.retrieval.namesake.knowledge_evidence import RelationTable, contains, stems

TABLE = RelationTable.load()


@pytest.mark.parametrize(
    ("pieces", "asked"),
    [
        (["Who was the director of ", "?"], "director"),
        (["What type of music does ", " play?"], "genre"),
        (["What music label is ", " represented by?"], "record_label"),
        (["Who is ", " married to?"], "spouse"),
        (["Who is ", "'s child?"], "child"),
        (["Where is the headquarter of ", "?"], "headquarters"),
    ],
)
def test_longest_cue_names_the_relation(pieces: list[str], asked: str) -> None:
    assert [relation.name for relation in TABLE.asked(pieces)] == [asked]


def test_nothing_is_asked_by_other_words() -> None:
    assert TABLE.asked(["Tell me about ", "!"]) == []


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Dark River (1990 film)", "anything", "film"),
        ("Paul Walker (footballer, born 1977)", "", "person"),
        ("Enduring Love", "Enduring Love is a 1997 novel by British writer Ian McEwan.", "book"),
        ("Paris", "Paris is the capital and most populous city of France.", "place"),
        ("Ono", "Ono (12 May 1890 – 3 June 1960) did things.", "person"),
    ],
)
def test_kind_of_a_page(title: str, text: str, kind: str) -> None:
    assert kind in TABLE.kinds_of(title, text)


def test_a_page_that_says_nothing_has_no_kind() -> None:
    assert TABLE.kinds_of("Xyzzy", "Xyzzy happened.") == frozenset()


def test_disambiguation_pages() -> None:
    assert RelationTable.load().lists_bearers("Her (disambiguation)", "")
    assert RelationTable.load().lists_bearers("Her", "Her may refer to: a film, a song.")
    assert not RelationTable.load().lists_bearers("Her", "Her is a film.")


def test_what_comes_after_by_is_not_the_kind() -> None:
    kinds = TABLE.kinds_of("X", "X is a song by the actor and film director Y.")
    assert kinds == {"song"}


def test_phrases_are_found_together_and_in_order() -> None:
    words = stems("It was directed and written by her")
    assert contains(words, stems("written by"))
    assert not contains(words, stems("directed by"))
    assert not contains(words, stems("by written"))


def test_every_kind_that_a_relation_names_exists() -> None:
    known = {kind for kinds in TABLE.kinds.values() for kind in kinds}
    for relation in TABLE.relations:
        assert set(relation.kinds) <= known, relation.name
        assert relation.asks


def test_what_a_question_says_besides_asking() -> None:
    table = RelationTable.load()
    relations, cue = table.asked_with_cue(["Who was ", " directed by?"])
    assert [r.name for r in relations] == ["director"] and stems("directed")[0] in cue
    assert table.asked_with_cue(["Tell me of "]) == ([], frozenset())
