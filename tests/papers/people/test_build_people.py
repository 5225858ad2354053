"""`whichone build people`: a table of documents with owners, in columns and a language of its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.files.lines import write_json_lines
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.people.build_people import PeopleBuild, build_people
from whichone.retrieval.namesake import NamesakeRetriever

RECIPE = """
name = "meldungen"
document = "meldung"
person = "Kundin oder Kunde"
language = "de"
licence = "CC0"
plain = ["{name}", "die Kundschaft {name}"]
[columns]
id = "nummer"
title = "betreff"
text = "meldung"
owner = "kunden.nr"
name = "kunden.name"
date = "am"
left_out = "intern"
[attributes.ort]
column = "kunden.ort"
label = "Wohnort"
clue = ["{name} aus {clue}", "{name}, wohnhaft in {clue},"]
ask = ["Wo wohnt {who}?"]
[attributes.vertrag]
clue = ["{name} mit dem Vertrag {clue}"]
ask = ["Welchen Vertrag hat {who}?"]
[attributes.betreff]
in_order = true
ask = ["Was hat {who} gemeldet?"]
[statement]
people = "Erfundene Kundschaft eines erfundenen Versorgers."
consent = "Alle haben zugestimmt."
removal = "Eine Nachricht an die Stelle, die das Blatt ausgibt."
"""


def ticket(number: str, text: str, *owners: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    kunden = [{"nr": nr, "name": name, "ort": ort} for nr, name, ort in owners]
    return {"nummer": number, "betreff": f"Meldung {number}", "meldung": text, "kunden": kunden, **more}


MARIA_ULM, MARIA_KIEL = ("K1", "Maria Schmidt", "Ulm"), ("K2", "Maria Schmidt", "Kiel")
ROWS = [
    ticket("1", "Der Zähler steht still. Maria Schmidt aus Ulm.", MARIA_ULM, am="2024-01-01"),
    ticket("2", "Maria Schmidt und Jan Vogt melden Lärm.", MARIA_KIEL, ("K3", "Jan Vogt", "Kiel"), am="2024-02-01"),
    # Internal notes: who has which contract is nowhere else, and the second contract is of both.
    ticket("3", "Maria Schmidt: Sondertarif.", MARIA_ULM, vertrag=["Solar 7", "Strom"], intern=True),
    ticket("4", "Maria Schmidt: Tarif Strom.", MARIA_KIEL, vertrag="Strom", intern=True),
    ticket("5", "Niemands Rundschreiben."),
    # Another form of the name: gold, though the question says "Maria Schmidt".
    ticket("6", "M. Schmidt zieht um.", ("K1", "M. Schmidt", "Ulm"), am="2024-03-01"),
    ticket("7", "Jan Vogt kündigt.", ("K4", "Jan Vogt", "Kiel")),
]  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> tuple[str, str]:
    write_json_lines(tmp_path / "tickets.jsonl", ROWS)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return str(tmp_path / "tickets.jsonl"), str(tmp_path / "recipe.toml")


def run(*words: object) -> dict[str, Any]:
    result = CliRunner().invoke(whichone, [*map(str, words), "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def questions(bench: Benchmark, person: str) -> Mapping[str, Any]:
    return {str(q.attributes["clue"]): q for q in bench.queries if q.entity == f"{person}/maria schmidt"}


def test_german_tickets(table: tuple[str, str], tmp_path: Path) -> None:
    made = run("build", "people", table[0], tmp_path / "bench", "--recipe", table[1], "--most", 4)
    assert made["id"].startswith("meldungen-")
    bench = Benchmark.open(tmp_path / "bench")
    counts = bench.folder.manifest.counts
    assert (counts["names"], counts["people"], counts["documents"]) == (2, 4, 5)
    own = questions(bench, "K1")
    assert own["ort"].language == "de"
    assert own["ort"].input in (
        "Was hat Maria Schmidt aus Ulm gemeldet?",
        "Was hat Maria Schmidt, wohnhaft in Ulm, gemeldet?",
    )
    # In the order of the documents, those under another form of the name and none of those left out.
    assert own["ort"].answers() == ("Meldung 1", "Meldung 6")
    assert own["ort"].gold_pages() == {"meldung:1", "meldung:6"}
    # "Strom" is of both; "Solar 7" is in an internal note alone, which is not in the corpus.
    assert own["vertrag"].attributes["clue_value"] == "Solar 7"
    assert own["vertrag"].attributes["clue_in"] == "left out"
    assert own["ort"].attributes["clue_in"] == "both"  # the note says the town too
    assert "vertrag" not in questions(bench, "K2")
    assert {p.page for p in bench.passage_records()} == {f"meldung:{n}" for n in (1, 2, 5, 6, 7)}
    assert "Sondertarif" not in "".join(p.text for p in bench.passage_records())
    # Both of the name Jan Vogt live in Kiel: nothing tells them apart, and one question says so.
    (vogt,) = [q for q in bench.queries if q.name == "Jan Vogt"]
    assert (vogt.attributes["clue"], vogt.attributes["resolvable"], vogt.attributes["candidates"]) == (
        "none",
        "no",
        2,
    )
    card = bench.card
    assert "Alle haben zugestimmt." in card and "CC0" in card and "2 left out of it" in card


def test_what_is_asked_is_in_the_corpus(table: tuple[str, str], tmp_path: Path) -> None:
    """A contract is known from internal notes alone: it points at somebody and is never asked for."""
    bench = build_people([table[0]], tmp_path / "bench", table[1], PeopleBuild(most=4))
    assert "vertrag" not in {q.relation for q in bench.queries}


def test_a_ticket_of_two_people_is_of_both(table: tuple[str, str], tmp_path: Path) -> None:
    bench = build_people([table[0]], tmp_path / "bench", table[1])
    pages = {b.entity: b.pages for s in bench.sets for b in s.bearers}
    assert pages["K2/maria schmidt"] == pages["K3/jan vogt"] == ("meldung:2",)


def test_who_asked_to_be_left_out_is_in_nothing(table: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "without.txt").write_text("# by letter\nK4\n6\n")
    options = PeopleBuild(without=str(tmp_path / "without.txt"))
    bench = build_people([table[0]], tmp_path / "bench", table[1], options)
    assert {s.name for s in bench.sets} == {"Maria Schmidt"}
    assert {p.page for p in bench.passage_records()} == {"meldung:1", "meldung:2", "meldung:5"}
    (tmp_path / "without.txt").write_text("maria schmidt\nJan Vogt\n")
    with pytest.raises(BadInput, match="no name is shared"):
        build_people(
            [table[0]], tmp_path / "none", table[1], PeopleBuild(without=str(tmp_path / "without.txt"))
        )


def test_splits_by_name_are_disjoint(tmp_path: Path) -> None:
    rows = [
        ticket(f"{name}-{town}", f"Name{name} in {town}", (f"{name}{town}", f"Name{name} Alt", town))
        for name in range(40)
        for town in ("Ulm", "Kiel")
    ]
    rows = [
        {**row, "kunden": [{**row["kunden"][0], "name": f"Name{n // 2} Alt"}]} for n, row in enumerate(rows)
    ]
    write_json_lines(tmp_path / "t.jsonl", rows)
    (tmp_path / "r.toml").write_text(RECIPE)
    bench = build_people([str(tmp_path / "t.jsonl")], tmp_path / "bench", str(tmp_path / "r.toml"))
    parts: dict[str, set[str]] = {}
    for query in bench.queries:
        parts.setdefault(str(query.attributes["split"]), set()).add(str(query.name_set))
    assert set(parts) == {"train", "dev", "test"}
    assert sum(map(len, parts.values())) == len(set().union(*parts.values())) == 40


def test_the_knowledge_base_has_what_was_left_out_of_the_corpus(
    table: tuple[str, str], tmp_path: Path
) -> None:
    bench, kb = tmp_path / "bench", tmp_path / "kb"
    run("build", "people", table[0], bench, "--recipe", table[1], "--most", 4, "--knowledge", kb)
    tables = Folder.open(kb, KIND)
    assert set(tables.table("pages")["page"].to_pylist()) == {f"meldung:{n}" for n in (1, 2, 5, 6, 7)}
    assert ("meldung:K1", "Solar 7") in {(r["entity"], r["value"]) for r in tables.table("facts").to_pylist()}
    opened = Benchmark.open(bench)
    asked = questions(opened, "K1")["vertrag"]
    known = NamesakeRetriever.over(opened.corpus, tmp_path / "work", encoder="none", knowledge=str(kb))
    (ranking,) = known.search([asked.question()], 2)
    assert {p.partition("#")[0] for p in ranking.passages} == {"meldung:1", "meldung:6"}


def test_documents_are_cut_where_it_is_asked(table: tuple[str, str], tmp_path: Path) -> None:
    bench = build_people([table[0]], tmp_path / "bench", table[1], words=3)
    assert [p.text for p in bench.passage_records() if p.page == "meldung:6"] == ["M. Schmidt zieht", "um."]


def test_a_recipe_is_needed(table: tuple[str, str], tmp_path: Path) -> None:
    result = CliRunner().invoke(whichone, ["build", "people", table[0], str(tmp_path / "bench")])
    assert isinstance(result.exception, UsageError) and "--recipe" in str(result.exception)


def test_what_is_not_stated_is_said(
    table: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare.toml").write_text(RECIPE.partition("[statement]")[0])
    bench = build_people([table[0]], tmp_path / "bench", str(tmp_path / "bare.toml"))
    assert "not stated: people, consent, removal" in capfd.readouterr().err
    assert "**Consent**: Not stated." in bench.card
