"""Retrieval measures on rankings one can check by eye."""

from __future__ import annotations

import msgspec
import pytest

from whichone.errors import UsageError
from whichone.measures.measure import Retrieved, parse_measure
from whichone.records import Output, Provenance, Query

QUERY = Query(
    id="q",
    task="qa",
    input="?",
    name_set="s",
    outputs=(
        Output(provenance=((Provenance(page="g1"), Provenance(page="g2")),)),
        Output(provenance=((Provenance(page="g3"),),)),
    ),
)


def value(measure: str, pages: list[str], others: tuple[str, ...] = ("n1",)) -> float | None:
    retrieved = Retrieved(query=QUERY, pages=pages, gold=QUERY.gold_pages(), others=frozenset(others))
    return parse_measure(measure).value(retrieved)


@pytest.mark.parametrize(
    ("pages", "confused"),
    [
        (["n1", "g1"], 1),
        (["g1", "n1"], 0),
        (["x", "n1"], 1),  # gold not retrieved ranks at infinity
        (["x", "y"], 0),  # neither retrieved
        ([], 0),
        (["x", "y", "n1", "g1"], 1),
    ],
)
def test_confused(pages: list[str], confused: float) -> None:
    assert value("confused@20", pages) == confused


def test_confused_looks_no_deeper_than_k() -> None:
    assert value("confused@2", ["x", "y", "n1", "g1"]) == 0
    assert value("confused", ["x", "y", "n1", "g1"]) == 1


def test_confused_without_namesakes() -> None:
    assert value("confused@20", ["g1"], others=()) == 0
    alone = msgspec.structs.replace(QUERY, name_set=None)
    assert parse_measure("confused@20").value(Retrieved(alone, [], frozenset(), frozenset())) is None


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("acc@1", 0),
        ("acc@2", 1),
        ("recall@2", 1 / 2),
        ("recall@4", 1.0),
        ("precision@4", 0.5),
        ("rr", 0.5),
        ("rr@1", 0),
        ("rprec", 0.5),
        ("namesake_hit@1", 1),
        ("Rprec", 0.5),
    ],
)
def test_values_by_hand(measure: str, expected: float) -> None:
    assert value(measure, ["n1", "g1", "x", "g2"]) == expected


@pytest.mark.parametrize("name", ["acc", "acc@0", "rprec@5", "accc@1", "acc@x", ""])
def test_names_that_are_no_measures(name: str) -> None:
    with pytest.raises(UsageError):
        parse_measure(name)
