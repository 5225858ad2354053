"""What goes beyond the paper: names that links use, and properties found in the knowledge base."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_kb import item, page, prop, write_kb

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.auto_properties import choose_properties
from whichone.papers.amber.build_amber import build, opened_pipeline
from whichone.papers.amber.collection import PAPER, AmberRules, load_collection, rules_called

PROPERTIES = [prop("P1303", "instrument"), prop("P641", "sport"), prop("P21", "gender")]
VALUES = [
    item("Q11", "trombone", types=["Q34379"]),
    item("Q13", "basketball", types=["Q31629"]),
    item("Q15", "male", types=["Q48264"]),
]
CACTUS = "The Big Cactus"


def cactus_kb(tmp_path: Path, anchors: list[tuple[str, str, int]]) -> Path:
    """Shaq Neal is seldom called The Big Cactus, and a trombonist always is."""
    entities = [
        item("Q1", "Shaq Neal", aliases=[CACTUS], title="Shaq Neal", P641="Q13"),
        item("Q2", CACTUS, title=CACTUS, P1303="Q11"),
    ]
    pages = [page(1, "Shaq Neal", "Q1", "basketball"), page(2, CACTUS, "Q2", "trombone")]
    return write_kb(
        tmp_path / "kb",
        [*entities, *VALUES, *PROPERTIES],
        pages,
        {"Shaq Neal": 900, CACTUS: 90},
        anchors=anchors,
    )


def set_names(kb: Path, rules: AmberRules) -> list[str]:
    with opened_pipeline(Folder.open(kb, KIND), load_collection("human"), rules) as pipeline:
        return [s.name for s in build(pipeline, str(kb)).sets]


def test_a_name_that_hardly_a_link_uses_makes_no_set(tmp_path: Path) -> None:
    kb = cactus_kb(tmp_path, [("Shaq Neal", "Q1", 97), (CACTUS.lower(), "Q1", 3)])
    assert set_names(kb, PAPER) == [CACTUS]
    assert set_names(kb, rules_called("paper", min_name_share=0.03)) == [CACTUS]
    assert set_names(kb, rules_called("paper", min_name_share=0.04)) == []
    with pytest.raises(UsageError, match="between 0 and 1"):
        rules_called("paper", min_name_share=3)


def test_shares_need_link_texts(tmp_path: Path) -> None:
    kb = cactus_kb(tmp_path, [])
    with pytest.raises(BadInput, match="no link texts"):
        set_names(kb, rules_called("paper", min_name_share=0.1))


def test_properties_that_are_selective_and_stated(tmp_path: Path) -> None:
    """Everybody has a gender; six of fourteen a sport that pages state, six an instrument that none does."""
    facts = [{"P641": "Q13"}] * 6 + [{"P1303": "Q11"}] * 6 + [{}] * 2
    entities = [
        item(f"Q1{n:02}", f"Ada {n}", title=f"Ada {n}", P21="Q15", **own) for n, own in enumerate(facts)
    ]
    pages = [page(n, f"Ada {n}", f"Q1{n:02}", "A male basketball player.") for n in range(len(facts))]
    views = {f"Ada {n}": 10 for n in range(len(facts))}
    kb = write_kb(tmp_path / "kb", [*entities, *VALUES, *PROPERTIES], pages, views)
    with opened_pipeline(Folder.open(kb, KIND), load_collection("human"), PAPER) as pipeline:
        collection, choices = choose_properties(pipeline)
    assert collection.property_ids == ("P641",)
    found = {c.property: c for c in choices}
    assert (found["P21"].share, found["P21"].stated) == (1.0, None)
    assert (found["P641"].entities, found["P641"].stated) == (6, 1.0)
    assert (found["P1303"].stated, found["P1303"].taken) == (0.0, False)


def test_named_properties_as_typed(tmp_path: Path) -> None:
    kb = cactus_kb(tmp_path, [])
    typed = ["build", "amber", str(kb), str(tmp_path / "b"), "--collection", "human"]
    typed += ["--properties", "P641,P1303", "--tasks", "qa"]
    CliRunner().invoke(whichone, typed, catch_exceptions=False)
    benchmark = Benchmark.open(tmp_path / "b")
    assert {q.relation for q in benchmark.queries} == {"P641", "P1303"}
    kept = benchmark.folder.manifest.parameters["collection"]["types"]["human"]["properties"]
    assert kept == ["P641", "P1303"]


def test_german_templates_and_names(tmp_path: Path) -> None:
    entities = [
        item("Q1", "Abe Roe", title="Abe Roe", P1303="Q11"),
        item("Q2", "Abe Roe", title="Abe Roe (b)", P641="Q13"),
        item("Q11", "Posaune", types=["Q34379"]),
        item("Q13", "Korbball", types=["Q31629"]),
    ]
    pages = [page(1, "Abe Roe", "Q1", "Posaune"), page(2, "Abe Roe (b)", "Q2", "Korbball")]
    kb = write_kb(
        tmp_path / "kb",
        [*entities, *PROPERTIES],
        pages,
        {"Abe Roe": 900, "Abe Roe (b)": 90},
        languages=dict.fromkeys(("Q1", "Q2", "Q11", "Q13"), "de"),
    )
    human = load_collection("human")
    with opened_pipeline(Folder.open(kb, KIND), human, PAPER, language="de") as pipeline:
        queries = build(pipeline, str(kb), ("qa", "fc")).queries
    asked = {q.input for q in queries if q.task == "qa"}
    assert len(asked) == 2 and all("instrument" in t.lower() or "Sport" in t for t in asked)
    true = [q.input for q in queries if q.task == "fc" and q.outputs[0].answer == "SUPPORTS"]
    assert any("Posaune" in text for text in true) and any("Korbball" in text for text in true)
    assert not any(" the " in q.input or "What" in q.input for q in queries)


ARTICLES = {
    "de": r"\b(der|die|das|den|dem|des|ein|eine|einen|er|sie) \$name",
    "fr": r"\b(le|la|les|l'|un|une|du|des|il|elle|au) ?\$name",
    "es": r"\b(el|los|las|un|una|del|él|ella) \$name",
}
NOUNS = r"\b(Figur|personnage|album|entreprise|personaje|álbum|empresa) \$name"


@pytest.mark.parametrize("language", sorted(ARTICLES))
def test_every_property_has_templates_in_the_language(language: str) -> None:
    """Three questions and two claims; no article or pronoun before a name whose gender nobody knows."""
    for name in ("human", "nonhuman"):
        collection = load_collection(name)
        for one in collection.property_ids:
            questions = collection.templates(one).questions.get(language, ())
            claims = collection.templates(one).claims.get(language, ())
            assert (len(set(questions)), len(set(claims))) == (3, 2), one
            for text in (*questions, *claims):
                assert text.count("$name") == 1, text
                assert re.search(NOUNS, text) or not re.search(ARTICLES[language], text), text
            assert all("$object" in claim for claim in claims), one
            assert not set(questions) & set(collection.templates(one).questions["en"]), one
