"""What people hand to `Namesake`: tables with gaps, values of all kinds, and mistakes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whichone
from whichone.errors import BadInput, UsageError

RECORDS: list[dict[str, Any]] = [
    {"id": 1, "title": "Ada Park", "text": "in Leeds", "year": 2020, "tags": ["a", "b"]},
    {"id": 2, "title": "Ada Park", "text": "in Turin", "year": 2021, "when": "2021-01-02"},
    {"id": 3, "title": None, "text": "no title here", "year": None},
]


def over(passages: Any, **options: Any) -> whichone.Namesake:
    return whichone.Namesake.over(passages, encoder="none", **options)


@pytest.fixture(scope="module")
def frame() -> whichone.Namesake:
    """A data frame's column of whole numbers with a gap contains fractions."""
    table = pd.DataFrame(RECORDS)
    assert table.year.dtype == float
    return over(table.assign(when=pd.to_datetime(table.when)))


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({"year": 2021}, ["2"]),
        ({"year": np.int64(2021)}, ["2"]),
        ({"year": "2021"}, ["2"]),
        ({"year": range(2019, 2021)}, ["1"]),
        ({"year": np.array([2020, 2021])}, ["1", "2"]),
        ({"when": datetime.date(2021, 1, 2)}, ["2"]),
        ({"when": pd.Timestamp("2021-01-02")}, ["2"]),
        ({"tags": "b"}, ["1"]),
        ({"year": None}, []),
        ({"year": []}, []),
    ],
)
def test_a_value_is_found_however_it_is_written(
    frame: whichone.Namesake, wanted: dict[str, Any], ids: list[str]
) -> None:
    assert sorted(hit.id for hit in frame.search("Ada Park", 5, filter=wanted)) == ids


@pytest.mark.parametrize(
    ("mistake", "error", "says"),
    [
        (lambda n: n.search("Ada Park", filter=["year"]), UsageError, "mapping"),
        (lambda n: n.search("Ada Park", filter={"year": {"above": 1}}), UsageError, "list of"),
        (lambda n: n.search("Ada Park", -1), UsageError, "k is -1"),
        (lambda n: n.search(None), UsageError, "a question is a text"),
        (lambda n: n.resolve(5), UsageError, "a question is a text"),
        (lambda n: n.search_many("Ada Park"), UsageError, "list of questions"),
        (lambda n: n.add({"id": 5, "text": "x"}), BadInput, "list of records"),
        (lambda n: n.add([{"id": 5, "text": "half \ud800"}]), BadInput, "'5'"),
        (lambda n: over([{"id": 5, "text": "half \ud800"}]), BadInput, "'5'"),
        (lambda n: over("passages.jsonl"), BadInput, "list of records"),
        (lambda n: over(RECORDS, encoders="none"), UsageError, "did you mean encode"),
    ],
)
def test_mistakes_are_named(
    frame: whichone.Namesake,
    mistake: Callable[[Any], Any],
    error: type[Exception],
    says: str,
) -> None:
    with pytest.raises(error) as caught:
        mistake(frame)
    shown = f"{caught.value} {getattr(caught.value, 'hint', '')}"
    assert says in shown
    assert len(frame) == 3


def test_ids_may_be_numbers() -> None:
    namesake = over(RECORDS, names={"Addie": 1})
    assert namesake.resolve("Where is Addie?").bearers[0].id == "1"
    assert namesake.remove(1) == 1 and namesake.remove([2, 3]) == 2
    assert namesake.search("Ada Park") == []
    assert namesake.add(RECORDS) == 3


def test_passages_without_words() -> None:
    namesake = over([{"id": 1, "text": ""}])
    assert namesake.search("anything") == []
    namesake.add([{"id": 2, "text": "anything"}])
    assert [hit.id for hit in namesake.search("anything")] == ["2"]
