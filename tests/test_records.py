"""The nouns and the id rules."""

from __future__ import annotations

import msgspec
import pytest

from whichone.records import Output, Provenance, Query, Question, page_id, page_of, passage_id


def test_id_rules() -> None:
    assert page_id("enwiki", 307) == "enwiki:307"
    assert passage_id("enwiki:307", 2) == "enwiki:307#2"
    assert page_of("enwiki:307#2") == "enwiki:307"
    assert page_of("enwiki:307") == "enwiki:307"
    assert page_of("corpus:C# (language)") == "corpus:C# (language)"
    assert page_of("corpus:C#5#0") == "corpus:C#5"


def query() -> Query:
    gold = ((Provenance(page="p:1"),), (Provenance(page="p:2"), Provenance(page="p:3")))
    return Query(
        id="q",
        task="qa",
        input="Who?",
        outputs=(Output(answer="a", aliases=("b", "a"), entity="Q1", provenance=gold), Output(answer="c")),
        name="Abe",
        name_set="s",
        role="head",
        relation="P1",
        entity="Q1",
        attributes={"popularity": 3},
    )


def test_a_question_holds_no_gold() -> None:
    """Nothing that a system may see tells the answer, the entity or the name set."""
    assert Question.__struct_fields__ == ("id", "text", "task", "language", "mention")
    seen = msgspec.json.encode(query().question()).decode()
    assert seen == '{"id":"q","text":"Who?"}'


def test_gold_pages_and_answers() -> None:
    assert query().gold_pages() == {"p:1", "p:2", "p:3"}
    assert query().answers() == ("a", "b", "c")


def test_records_are_frozen() -> None:
    with pytest.raises(AttributeError):
        query().id = "other"  # type: ignore[misc]


def test_a_query_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(query()), type=Query) == query()
