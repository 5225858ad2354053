"""Questions that fit what is asked about, in clean wording; the release's flaw in the published one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.benchmarks.relations import published_relations, read_relations, spoken_relations
from whichone.cli import whichone
from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.names import name_key
from whichone.papers.entityquestions.build_entityquestions import (
    EntityQuestionsOptions,
    build_entityquestions,
)
from whichone.papers.entityquestions.draw import PUBLISHED_SIZES

BAND = "Q215380"
TYPED = ("P106", "P136", "P175", "P264", "P407", "P413", "P69")


def types_asked(benchmark: Benchmark, kb: Path) -> dict[str, set[str]]:
    """By relation the types of all subjects."""
    rows = Folder.open(kb, knowledge_tables.KIND).table("entities", ["entity", "types"]).to_pylist()
    types = {row["entity"]: row["types"] for row in rows}
    found: dict[str, set[str]] = {}
    for query in benchmark.queries:
        found.setdefault(query.relation, set()).update(types[query.entity])
    return found


def test_the_built_in_world_is_asked_what_fits() -> None:
    place = builtin_benchmark("builtin/entityquestions")
    asked = types_asked(Benchmark.open(place), place.parent / "kb")
    assert asked["P136"] == {BAND}
    assert asked["P264"] == {BAND}
    assert asked["P407"] == {"Q7725634", "Q47461344", "Q7366"}
    assert asked["P175"] == {"Q7366", "Q482994"}


def test_published_wording_keeps_the_flaw(tmp_path: Path) -> None:
    kb = builtin_benchmark("builtin/entityquestions").parent / "kb"
    words = ["build", "entityquestions", str(kb), str(tmp_path / "b"), "--only", "P136"]
    words += ["--least-facts", "1", "--least-answers", "2", "--rules", "published", "--json"]
    result = CliRunner().invoke(whichone, words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["path"].endswith("b")
    asked = {q.input for q in Benchmark.open(tmp_path / "b").queries}
    assert "What type of music does Frankenstein play?" in asked


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A rock band by a subclass, a novelist with a genre that is no music, a novel, and one of no type."""
    subjects = {
        "Q1": ("The Larks", ["Q5741070"], "Q10"), "Q2": ("Ada Novelist", ["Q5"], "Q11"),
        "Q3": ("The Tower", ["Q8261"], "Q11"), "Q4": ("Ada Singer", ["Q5"], "Q10"),
        "Q6": ("Untold", [], "Q12"),
    }  # fmt: skip
    values = {"Q10": ("polka", ["Q188451"]), "Q11": ("horror", ["Q223393"]), "Q12": ("ska", [])}
    rows: dict[str, list[dict]] = {schema.name: [] for schema in knowledge_tables.ALL}
    named = {**{k: v[:2] for k, v in subjects.items()}, **values}
    for entity, (label, types) in named.items():
        rows["entities"].append(
            {"entity": entity, "label": label, "types": types, "sitelinks": 1, "title": label}
        )
        rows["names"].append(
            {"entity": entity, "name": label, "key": name_key(label), "language": "en"}
            | {"kind": "label", "count": 1, "place": 0}
        )
    for entity, (label, _, genre) in subjects.items():
        text = f"{label} is known for {values[genre][0]}."
        rows["pages"].append(
            {"page": f"w:{entity[1:]}", "title": label, "entity": entity, "kind": "article"}
            | {"paragraphs": [label, text], "categories": [], "position": 0}
        )
        rows["facts"].append(
            {"entity": entity, "property": "P136", "kind": "entity", "value": genre}
            | {"rank": "normal", "place": 0}
        )
    for below, above in (("Q5741070", "Q5741069x"), ("Q5741069x", BAND)):
        rows["facts"].append(
            {"entity": below, "property": "P279", "kind": "entity", "value": above}
            | {"rank": "normal", "place": 0}
        )
    with Folder.create(tmp_path / "kb", knowledge_tables.KIND) as folder:
        for schema in knowledge_tables.ALL:
            complete = [{f: r.get(f) for f in schema.schema.names} for r in rows[schema.name]]
            folder.write(schema, schema.from_rows(complete))
        folder.commit(name="genres")
    return tmp_path / "kb"


def test_subclasses_and_answers_count(kb: Path, tmp_path: Path) -> None:
    options = EntityQuestionsOptions(only=("P136",), least_facts=1, least_answers=1, sizes=PUBLISHED_SIZES)
    built = build_entityquestions(kb, tmp_path / "bench", options)
    assert {q.input for q in built.benchmark.queries} == {
        "What type of music does The Larks play?",
        "What type of music does Ada Singer play?",
        "What type of music does Untold play?",
    }
    steps = {s["step"]: (s["kept"], s["removed"]) for s in built.steps}
    assert steps["the question fits the subject and the answer"] == (3, 2)


def test_every_language_and_own_files_have_types(tmp_path: Path) -> None:
    for key in TYPED:
        assert published_relations()[key].types
        assert all(spoken_relations(x)[key].types for x in ("de", "es", "fr"))
    own = tmp_path / "own.toml"
    own.write_text('[P1]\nlabel = "x"\nquestion = "Who made $name?"\ntypes = ["Q11424"]\n')
    assert read_relations(own)["P1"].types == ("Q11424",)
