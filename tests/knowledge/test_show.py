"""`show KB NAME`: bearers with their facts."""

from __future__ import annotations

from pathlib import Path

from small_base import small_base

from whichone.knowledge.show import describe_name, show_name


def test_a_shared_name(tmp_path: Path) -> None:
    document = show_name(small_base(tmp_path / "kb"), "Abe Lincoln")
    assert [b["entity"] for b in document["bearers"]] == ["Q1", "Q2"]
    musician = document["bearers"][1]
    assert musician["types"] == [{"id": "Q5", "label": "human"}]
    assert musician["pages"] == [
        {"page": "enwiki:8", "title": "Abe Lincoln (musician)", "kind": "article"}
    ]
    assert musician["facts"] == [
        {"property": "P1303", "label": "instrument", "kind": "entity", "value": "Q6",
         "value_label": "trombone"},
        {"property": "P2048", "label": None, "kind": "quantity", "value": "+2", "unit": "trombone"},
    ]  # fmt: skip
    text = describe_name(document)
    assert text.startswith("Abe Lincoln: 2 bearers\n\n1. Abraham Lincoln (Q1), president\n")
    assert "   instrument: trombone" in text


def test_an_id_is_a_name_too(tmp_path: Path) -> None:
    [bearer] = show_name(small_base(tmp_path / "kb"), "Q2")["bearers"]
    assert bearer["label"] == "Abe Lincoln"


def test_an_unknown_name_gets_near_ones(tmp_path: Path) -> None:
    document = show_name(small_base(tmp_path / "kb"), "linco")
    assert document["bearers"] == []
    assert describe_name(document).startswith("nobody is called 'linco' here\nnear: Lincoln")
