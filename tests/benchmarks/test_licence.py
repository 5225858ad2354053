"""Licence and attribution go with every card and every export."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, licence_text, with_licence
from whichone.report.show import export

WIKIPEDIA = "CC BY-SA"


def test_each_kind_of_source_once() -> None:
    sources = [{"kind": "wikidata"}, {"kind": "kilt"}, {"kind": "wikipedia"}, {"kind": "views"}]
    assert licence_text(sources).count(WIKIPEDIA) == 1
    assert "CC0" in licence_text(sources)


def test_a_catalogue_is_not_wikipedia() -> None:
    assert WIKIPEDIA not in licence_text([{"kind": "catalogue", "file": "staff.toml"}])
    own = licence_text([{"file": "a.jsonl", "licence": "MIT", "citation": "A and B, 2020."}])
    assert own == "a.jsonl: MIT. A and B, 2020."
    assert "a.csv" in licence_text([{"file": "a.csv"}])


def test_a_card_that_says_it_stays_as_it_is() -> None:
    assert with_licence("# x\n\nLicence: MIT.\n", []) == "# x\n\nLicence: MIT.\n"
    assert "CC0" in with_licence("# x\n", [{"kind": "wikidata"}])


@pytest.mark.parametrize("name", ["amber", "ambigdocs", "entityquestions"])
def test_cards_of_the_builtin_benchmarks(name: str) -> None:
    card = Benchmark.open(f"builtin/{name}").card
    assert WIKIPEDIA in card


@pytest.mark.parametrize("form", ["amber", "beir", "kilt", "trec"])
def test_exports_hold_the_card(tmp_path: Path, form: str) -> None:
    export("builtin/amber", tmp_path / "out", form)
    card = (tmp_path / "out" / "CARD.md").read_text()
    assert card.startswith(Benchmark.open("builtin/amber").card)  # trec adds what its files are of
