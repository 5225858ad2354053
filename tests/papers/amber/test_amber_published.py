"""Ids, choices and number words, to the bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.files.folder import Folder
from whichone.knowledge.formats.kilt_source import KiltSource
from whichone.knowledge.ingest import ingest
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.alignment import (
    amount_name,
    beginning,
    choose_template,
    fill,
    needle,
    number_words,
    query_id,
    tuple_id,
)
from whichone.papers.amber.build_amber import opened_pipeline
from whichone.papers.amber.collection import PAPER, RULES_PUBLISHED, load_collection


def golden(shared: Path, name: str) -> list[dict[str, object]]:
    path = shared / "golden" / "amber" / "primitives" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_tuple_ids(shared: Path) -> None:
    for case in golden(shared, "amber_id"):
        assert tuple_id(str(case["name"]), str(case["qid"]), str(case["pid"])) == case["id"]


def test_quantities(shared: Path) -> None:
    for case in golden(shared, "quantity_aliases"):
        amount = str(case["amount"])
        assert [amount_name(amount)] == case["aliases"]
        assert list(number_words(amount)) == case["additional"]


def test_answers_in_documents(shared: Path) -> None:
    for case in golden(shared, "answer_in_doc"):
        document = beginning(str(case["document"]), 350)
        wanted = needle(str(case["answer"]), RULES_PUBLISHED)
        assert wanted is not None
        assert (document != "  " and wanted in document) == case["found"]


def test_an_empty_name_is_found_everywhere_or_nowhere() -> None:
    assert needle("The", RULES_PUBLISHED) == ""
    assert needle("The", PAPER) is None


def test_templates_are_drawn_by_the_mersenne_twister() -> None:
    import random

    random.seed(42641)
    assert choose_template("Q42", "P641", "abc") == random.choice("abc")
    drawn = {choose_template(f"place {n}", "country", "abc") for n in range(50)}
    assert drawn == {"a", "b", "c"}


def test_query_id() -> None:
    assert query_id("x", "") == "x=d41d8cd98f00b204e9800998ecf8427e"


def test_a_name_with_a_slot_is_rewritten_in_claims_only() -> None:
    assert fill("$name is $object.", "Cost $object", "high") == "Cost high is high."
    assert fill("Who is $name?", "Cost $object") == "Who is Cost $object?"


@pytest.mark.parametrize("said", [True, False])
def test_pages_are_those_whose_records_say_their_entity(tmp_path: Path, said: bool) -> None:
    """However little else the record says; where no record says it, titles decide."""
    infos = {"A": {"wikidata_id": "Q1"}, "B": {"wikidata_id": "Q2", "aliases": {}}, "C": {}, "D": None}
    records = []
    for number, (title, info) in enumerate(infos.items()):
        record = {"_id": str(number), "wikipedia_id": str(number), "wikipedia_title": title}
        record |= {"text": [f"{title}\n"], "anchors": [], "categories": "", "history": {}}
        if info is not None:
            record["wikidata_info"] = info if said else {}
        records.append(record)
    source = tmp_path / "kilt_knowledgesource.json"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    ingest(tmp_path / "kb", [KiltSource(source)])
    kb = Folder.open(tmp_path / "kb", KIND)
    with opened_pipeline(kb, load_collection("human"), RULES_PUBLISHED) as pipeline:
        kept = sorted(title for (title,) in pipeline.tuples(pipeline.pages().select("title")))
    assert kept == (["A", "B"] if said else ["A", "B", "C", "D"])
