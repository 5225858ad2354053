"""Measures of answers, by hand."""

from __future__ import annotations

import pytest

from whichone.errors import UsageError
from whichone.measures.measure import parse_measure, parse_measures
from whichone.measures.scores import as_answered, other_values
from whichone.records import Answer, Output, Provenance, Query


def query(id: str = "q", task: str = "qa", *answers: str, **fields) -> Query:
    pages = fields.pop("pages", ("p:gold",))
    group = tuple(Provenance(page=p) for p in pages)
    return Query(
        id=id,
        task=task,
        input="?",
        outputs=(Output(answer=answers[0], aliases=answers[1:], provenance=(group,)),) if answers else (),
        **fields,
    )


def score(measure: str, of: Query, text: str | None, *cited: str, shown=(), others=()):
    answer = Answer(question=of.id, text=text, passages=cited)
    return parse_measure(measure).value(as_answered(of, answer, shown, others))


@pytest.mark.parametrize(
    ("measure", "text", "value"),
    [
        ("accuracy", "the Jean-Paul Band", 0.0),
        ("accuracy", " Jean-Paul Band ", 1.0),
        ("em", "the Jean-Paul Band!", 1.0),
        ("em", "Jean Paul Band", 0.0),  # SQuAD joins what a hyphen contains
        ("amber_em", "Jean Paul Band", 1.0),  # AmbER parts it
        ("f1", "Jean-Paul", 2 / 3),  # "jeanpaul" of "jeanpaul band": precision 1, recall 1/2
        ("amber_f1", "Jean-Paul", 0.8),  # two of three words
        ("f1", "Nobody", 0.0),
        ("rouge_l", "Jean-Paul Band", pytest.approx(1, abs=1e-6)),
        ("popqa", "It was the Jean-Paul Band.", 1.0),
        ("popqa", "jean-paul band", 1.0),
        ("popqa", "JEAN-PAUL BAND", 0.0),
        ("em", None, 0.0),
        ("em", "", 0.0),
        ("refusal", None, 1.0),
        ("refusal", "", 0.0),
    ],
)
def test_text(measure, text, value):
    assert score(measure, query("q", "qa", "Jean-Paul Band"), text) == pytest.approx(value)


def test_the_best_accepted_answer_counts():
    assert score("em", query("q", "qa", "New York", "NYC"), "nyc") == 1.0


def test_a_failure_is_wrong_and_no_refusal():
    failed = as_answered(query("q", "qa", "a"), None, (), ())
    assert parse_measure("em").value(failed) == 0.0
    assert parse_measure("refusal").value(failed) == 0.0
    assert parse_measure("failure").value(failed) == 1.0


def test_without_gold_answers_nothing_applies():
    assert score("em", query("q", "qa"), "x") is None
    assert score("kilt_em", query("q", "qa"), "x") is None


def test_kilt_asks_for_the_pages():
    asked = query("q", "qa", "x")
    assert score("kilt_em", asked, "x", "p:gold#3") == 1.0
    assert score("kilt_em", asked, "x", "p:other#0", shown=("p:gold#0", "p:other#0")) == 0.0
    assert score("kilt_em", asked, "x", shown=("p:gold#0", "p:other#0")) == 1.0  # by their order
    assert score("kilt_em", asked, "x", shown=("p:other#0", "p:gold#0")) == 0.0
    assert score("kilt_em", asked, "y", "p:gold#0") == 0.0
    assert score("kilt_f1", asked, "x") == 0.0
    two = query("q", "qa", "x", pages=("p:a", "p:b"))
    assert score("kilt_em", two, "x", "p:b#0", "p:a#2") == 1.0
    assert score("kilt_em", two, "x", "p:a#0", "p:a#1") == 0.0


def test_cited_gold():
    asked = query("q", "qa", "x")
    assert score("cited_gold", asked, "x", "p:gold#1", "p:other#0") == 1.0
    assert score("cited_gold", asked, "x", "p:other#0", "p:gold#1") == 0.0
    assert score("cited_gold", asked, "x") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Eskby", 1.0),
        ("She was born in Eskby.", 1.0),
        ("Tarnholm", 0.0),
        ("Tarnholm, or was it Eskby?", 0.0),  # the right one is in it
        ("Eskbyville", 0.0),
        ("Elsewhere", 0.0),
        (None, 0.0),
    ],
)
def test_answered_for_namesake(text, value):
    asked = query("q", "qa", "Tarnholm")
    assert score("answered_for_namesake", asked, text, others=("Eskby",)) == value


def test_where_nobody_can_be_mistaken():
    assert score("answered_for_namesake", query("q", "qa", "x"), "y") is None
    assert score("answered_for_namesake", query("q", "fc", "SUPPORTS"), "y", others=("y",)) is None


def test_other_values_are_of_the_same_relation_if_there_are_any():
    def of(id: str, entity: str, relation: str, answer: str, task: str = "qa") -> Query:
        return query(id, task, answer, name_set="s", entity=entity, relation=relation)

    found = other_values(
        [
            of("1", "A", "birthplace", "Tarnholm"),
            of("2", "B", "birthplace", "Eskby"),
            of("3", "B", "team", "Oars"),
            of("4", "A", "field", "mosses"),
            of("5", "C", "birthplace", "the Tarnholm"),
            of("6", "B", "team", "SUPPORTS", "fc"),
            query("7", "qa", "x"),
        ]
    )
    assert found["1"] == ("Eskby",)  # C's is the same place, so it tells nobody apart
    assert found["3"] == ("Tarnholm", "mosses", "the Tarnholm")
    assert "6" not in found and "7" not in found


def test_names():
    assert [str(m) for m in parse_measures(["KILT-em", "KILT-rougel", "rougel", "accuracy"])] == [
        "kilt_em",
        "kilt_rouge_l",
        "rouge_l",
        "accuracy",
    ]
    with pytest.raises(UsageError, match="takes no depth"):
        parse_measure("em@5")
