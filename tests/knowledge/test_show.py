"""`show KB NAME`: bearers with their facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_base import small_base

from whichone.knowledge.knowledge_base import describe_name, show_name


def test_a_shared_name(tmp_path: Path) -> None:
    document = show_name(small_base(tmp_path / "kb"), "Abe Lincoln")
    assert [b["entity"] for b in document["bearers"]] == ["Q1", "Q2"]
    musician = document["bearers"][1]
    assert musician["types"] == [{"id": "Q5", "label": "human"}]
    assert musician["pages"] == [{"page": "enwiki:8", "title": "Abe Lincoln (musician)", "kind": "article"}]
    assert musician["facts"] == [
        {"property": "P1303", "label": "instrument", "kind": "entity", "value": "Q6",
         "value_label": "trombone"},
        {"property": "P2048", "label": None, "kind": "quantity", "value": "+2", "unit": "trombone"},
    ]  # fmt: skip
    text = describe_name(document)
    assert text.startswith("Abe Lincoln: 2 bearers\n\n1. Abraham Lincoln (Q1), president\n")
    assert "   instrument: trombone" in text


@pytest.mark.parametrize(
    ("asked", "entity"),
    [
        ("Q2", "Q2"),
        ("enwiki:307", "Q1"),
        ("enwiki:9", "enwiki:9"),
        ("https://en.wikipedia.org/wiki/Abe_Lincoln_(musician)", "Q2"),
    ],
)
def test_ids_and_addresses_are_names_too(tmp_path: Path, asked: str, entity: str) -> None:
    document = show_name(small_base(tmp_path / "kb"), asked)
    assert [b["entity"] for b in document["bearers"]] == [entity]
    assert document["popularity"] == "views"


def test_an_unknown_name_gets_near_ones(tmp_path: Path) -> None:
    document = show_name(small_base(tmp_path / "kb"), "linco")
    assert document["bearers"] == []
    assert describe_name(document).startswith("nobody is called 'linco' here\nnear: Lincoln")
