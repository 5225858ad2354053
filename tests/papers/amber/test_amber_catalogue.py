"""Catalogues: AmbER sets where all entries have the same attributes, with and without popularity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput

ROWS = [
    ("1", "Paris", "France", 2_138_551, "Europe/Paris"),
    ("2", "Paris", "United States", 24_171, "America/Chicago"),
    ("3", "Melbourne", "Australia", 4_917_750, "Australia/Melbourne"),
    ("4", "Melbourne", "United States", 80_127, "America/New_York"),
    ("5", "Melbourne", "United States", 1_500, "America/Chicago"),
    ("6", "Lima", "Peru", 7_737_002, "America/Lima"),
]
CATALOGUE = """
name = "places"
file = "places.jsonl"
type = "place"

[columns]
id = "id"
name = "name"
{popularity}

[attributes.country]
column = "country"

[attributes.population]
column = "population"
kind = "quantity"

[attributes.timezone]
column = "timezone"
label = "time zone"

[documents]
template = "{{name}} is in {{country}}, has {{population}} inhabitants and the time of {{timezone}}."
"""


def typed(*words: object) -> str:
    from whichone.cli import whichone

    done = CliRunner().invoke(whichone, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def knowledge_base(folder: Path, *, popularity: bool) -> Path:
    keys = ("id", "name", "country", "population", "timezone")
    lines = (json.dumps(dict(zip(keys, row, strict=True))) for row in ROWS)
    (folder / "places.jsonl").write_text("\n".join(lines) + "\n")
    column = 'popularity = "population"' if popularity else ""
    (folder / "places.toml").write_text(CATALOGUE.format(popularity=column))
    typed("ingest", "--catalogue", folder / "places.toml", "--workers", "1", folder / "kb")
    return folder / "kb"


def test_places_are_told_apart_by_their_country(tmp_path: Path) -> None:
    kb = knowledge_base(tmp_path, popularity=True)
    typed("build", "amber", kb, tmp_path / "bench", "--collection", "places")
    bench = Benchmark.open(tmp_path / "bench")
    # Two of the three Melbournes share their country: neither can be asked about, and a name with
    # one bearer left to ask about is no set.
    assert [s.name for s in bench.sets] == ["Paris"]
    questions = {q.input for q in bench.queries if q.task == "qa"}
    assert len(questions) == 4
    assert all(", France" in text or "in France" in text or "United States" in text for text in questions)
    slots = [q.input for q in bench.queries if q.task == "sf"]
    assert "Paris (France) [SEP] population" in slots
    head = {q.entity for q in bench.queries if q.role == "head"}
    assert head == {"places:1"}
    assert {q.answers() for q in bench.queries if q.task == "qa" and q.relation == "population"} == {
        ("2138551",),
        ("24171",),
    }


def test_without_popularity_and_templates_it_works_and_says_so(tmp_path: Path) -> None:
    kb = knowledge_base(tmp_path, popularity=False)
    (tmp_path / "own.toml").write_text(
        'name = "Own"\npopularity = "none"\nqualifier = "country"\n'
        '[types.place]\nid = "place"\nproperties = ["timezone"]\n'
    )
    said = typed("build", "amber", kb, tmp_path / "bench", "--collection", tmp_path / "own.toml")
    assert "no head, no tail" in said
    bench = Benchmark.open(tmp_path / "bench")
    assert {q.input for q in bench.queries if q.task == "qa"} == {
        "What is the time zone of Paris (France)?",
        "What is the time zone of Paris (United States)?",
    }
    assert {q.role for q in bench.queries} == {None}
    assert "no head, no tail" in bench.card
    typed("export", tmp_path / "bench", tmp_path / "out", "--format", "amber")
    typed("import", "amber", tmp_path / "out", tmp_path / "again", "--source", "places")
    again = Benchmark.open(tmp_path / "again")
    assert {q.role for q in again.queries} == {b.role for s in again.sets for b in s.bearers} == {None}


def test_without_a_qualifier_it_says_what_to_do(tmp_path: Path) -> None:
    kb = knowledge_base(tmp_path, popularity=False)
    (tmp_path / "own.toml").write_text(
        'name = "Own"\npopularity = "none"\n[types.place]\nid = "place"\nproperties = ["timezone"]\n'
    )
    with pytest.raises(BadInput, match="give the collection a qualifier"):
        typed("build", "amber", kb, tmp_path / "bench", "--collection", tmp_path / "own.toml")
    assert not (tmp_path / "bench").exists()


def test_views_are_asked_for_before_any_work(tmp_path: Path) -> None:
    kb = knowledge_base(tmp_path, popularity=False)
    with pytest.raises(BadInput, match="--popularity sitelinks, links or none"):
        typed("build", "amber", kb, tmp_path / "bench", "--collection", "places")


def test_a_figure_shows_what_tells_them_apart(tmp_path: Path) -> None:
    kb = knowledge_base(tmp_path, popularity=True)
    shown = typed("build", "amber", kb, "--collection", "places", "--explain", "Paris")
    assert "country (country): France  [tells it apart, is not asked for]" in shown
    assert "a set of 2 bearers" in shown
