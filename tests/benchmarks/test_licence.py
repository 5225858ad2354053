"""Licence and attribution go with every card and every export."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, licence_text, with_licence
from whichone.benchmarks.by_name import WORLD_LICENCE
from whichone.benchmarks.release import licence_id
from whichone.cli import whichone
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
    same = [{"file": file, "licence": "MIT"} for file in ("a.csv", "b.csv")]
    assert licence_text(same) == "a.csv, b.csv: MIT."
    assert "a.csv" in licence_text([{"file": "a.csv"}])


def test_a_card_that_says_it_stays_as_it_is() -> None:
    assert with_licence("# x\n\nLicence: MIT.\n", []) == "# x\n\nLicence: MIT.\n"
    assert "CC0" in with_licence("# x\n", [{"kind": "wikidata"}])


@pytest.mark.parametrize("name", ["amber", "ambigdocs", "entityquestions"])
def test_the_builtin_world_is_not_wikipedia(name: str) -> None:
    benchmark = Benchmark.open(f"builtin/{name}")
    assert f"{WORLD_LICENCE}." in benchmark.card
    assert WIKIPEDIA not in benchmark.card and "CC0" not in benchmark.card
    assert licence_id(benchmark) == "apache-2.0"


def test_the_licence_given_to_ingest_is_on_every_card(tmp_path: Path) -> None:
    rows = "".join(f"{n},Ada Park,Town {n},Desk {n},She sits.\n" for n in range(4))
    (tmp_path / "staff.csv").write_text(f"id,name,city,desk,text\n{rows}")
    (tmp_path / "staff.toml").write_text(
        'name = "staff"\nfile = "staff.csv"\ntype = "employee"\n[columns]\nid = "id"\nname = "name"\n'
        'text = "text"\n[attributes.city]\ncolumn = "city"\n[attributes.desk]\ncolumn = "desk"\n'
    )
    catalogue, kb, out = (str(tmp_path / name) for name in ("staff.toml", "KB", "OUT"))
    for words in (
        ["ingest", "--catalogue", catalogue, "--licence", "CC BY 4.0, A and B", kb],
        ["build", "catalogue", kb, out, "--language", "en"],
    ):
        result = CliRunner().invoke(whichone, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    benchmark = Benchmark.open(out)
    assert benchmark.card.count("staff.toml: CC BY 4.0, A and B.") == 1
    assert licence_id(benchmark) == "cc-by-4.0"


@pytest.mark.parametrize("form", ["amber", "beir", "kilt", "trec"])
def test_exports_hold_the_card(tmp_path: Path, form: str) -> None:
    export("builtin/amber", tmp_path / "out", form)
    card = (tmp_path / "out" / "CARD.md").read_text()
    assert card.startswith(Benchmark.open("builtin/amber").card)  # trec adds what its files are of
