"""`--rules published` gives what the released program gave, record for record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from small_kb import dump_records, page_records, view_counts, write_kb

from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.build_amber import BuiltSets, build, opened_pipeline
from whichone.papers.amber.collection import (
    RULES_PUBLISHED,
    Collection,
    load_collection,
    parse_collection,
    set_records,
    tuple_record,
)

TASKS = ("qa", "sf", "fc")


def published(kb: Path, collection: Collection) -> BuiltSets:
    with opened_pipeline(Folder.open(kb, KIND), collection, RULES_PUBLISHED) as pipeline:
        return build(pipeline, str(kb))


def by_name(records: Any) -> list[Any]:
    return sorted(json.loads(json.dumps(list(records))), key=lambda record: record["name"])


def lines(path: Path) -> list[Any]:
    return by_name(json.loads(line) for line in path.read_text().splitlines())


def compare(built: BuiltSets, tuples: Path, tasks: dict[str, Path]) -> None:
    made = [tuple_record(amber_set) for amber_set in built.sets]
    assert by_name(made) == lines(tuples)
    for task, path in tasks.items():
        queries = [query for query in built.queries if query.task == task]
        assert by_name(set_records(made, queries)) == lines(path)


@pytest.fixture(scope="module")
def world1(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = shared / "golden" / "amber_build" / "world1"
    return write_kb(
        tmp_path_factory.mktemp("world1") / "kb",
        dump_records(world / "wikidata.json.bz2"),
        page_records(world / "kilt_knowledgesource.json.gz"),
        view_counts(world / "pagecounts-totals.bz2"),
    )


@pytest.mark.parametrize("collection", ["human", "nonhuman"])
def test_world1(shared: Path, world1: Path, collection: str) -> None:
    expected = shared / "golden" / "amber_build" / "world1" / "expected"
    built = published(world1, load_collection(collection))
    compare(
        built,
        expected / f"{collection}.amber_set_tuples.jsonl",
        {task: expected / f"{collection}.{task}.amber_sets.jsonl" for task in TASKS},
    )
    assert built.account.remarks == []


def collection_of(case: Path) -> Collection:
    """The golden case's own tables and templates, whose slot is called `$entity`."""

    def ours(templates: list[str]) -> list[str]:
        return [text.replace("$entity", "$name") for text in templates]

    types = json.loads((case / "entity_types_to_distinguishing_properties.json").read_text())
    questions = json.loads((case / "qa_templates.json").read_text())
    claims = json.loads((case / "fc_templates.json").read_text())
    document = {
        "name": case.name,
        "key": "golden",
        "types": {key: {"id": key, "properties": props} for key, props in types.items()},
        "properties": {
            prop: {"questions": {"en": ours(questions[prop]["all"])}, "claims": {"en": ours(claims[prop])}}
            for prop in questions
        },
    }
    return parse_collection(document, case)


def knowledge_base(case: Path, out: Path) -> Path:
    return write_kb(
        out / "kb",
        dump_records(case / "wikidata.json.bz2"),
        page_records(case / "kilt_ks.jsonl"),
        view_counts(case / "pageviews.bz2"),
    )


@pytest.mark.parametrize("name", ["p01_human", "p03_human_small"])
def test_pipeline(shared: Path, tmp_path: Path, name: str) -> None:
    case = shared / "golden" / "amber" / "pipeline" / name
    built = published(knowledge_base(case, tmp_path), collection_of(case))
    compare(
        built,
        case / "expected" / "4_amber_set_tuples.jsonl",
        {task: case / "expected" / f"5_{task}_amber_sets.jsonl" for task in TASKS},
    )


def test_where_the_released_program_stops_ours_goes_on_and_says_so(shared: Path, tmp_path: Path) -> None:
    case = shared / "golden" / "amber" / "pipeline" / "p05_error_no_property_label"
    built = published(knowledge_base(case, tmp_path), collection_of(case))
    assert {q.task for q in built.queries} == set(TASKS)
    slots = [q.input for q in built.queries if q.task == "sf" and q.relation == "P264"]
    assert slots and all(text.endswith(" [SEP] P264") for text in slots)
    assert len(built.account.remarks) == 1
    assert "P264 has no label" in built.account.remarks[0]


@pytest.mark.parametrize("collection", ["human", "nonhuman"])
def test_world1_as_typed(shared: Path, tmp_path: Path, collection: str) -> None:
    """The four commands of the documentation, through the real readers."""
    from click.testing import CliRunner

    from whichone.cli import whichone

    world = shared / "golden" / "amber_build" / "world1"
    kb, bench, out = (str(tmp_path / name) for name in ("kb", "bench", "out"))
    for words in (
        ["ingest", "--wikidata", str(world / "wikidata.json.bz2"),
         "--pages", str(world / "kilt_knowledgesource.json.gz"),
         "--views", str(world / "pagecounts-totals.bz2"), "--workers", "1", kb],
        ["build", "amber", kb, bench, "--collection", collection, "--rules", "published"],
        ["export", bench, out, "--format", "amber"],
        ["import", "amber", f"{out}/qa/amber_sets.jsonl", str(tmp_path / "again")],
    ):  # fmt: skip
        done = CliRunner().invoke(whichone, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    expected = world / "expected"
    made = Path(out)
    assert lines(made / "amber_set_tuples.jsonl") == lines(expected / f"{collection}.amber_set_tuples.jsonl")
    for task in TASKS:
        assert lines(made / task / "amber_sets.jsonl") == lines(
            expected / f"{collection}.{task}.amber_sets.jsonl"
        )


def test_a_pipeline_case_as_typed(shared: Path, tmp_path: Path) -> None:
    """Its pages do not all say whom they are about, and its views hold titles twice."""
    from click.testing import CliRunner

    from whichone.cli import whichone

    case = shared / "golden" / "amber" / "pipeline" / "p03_human_small"
    kb, bench, out = (str(tmp_path / name) for name in ("kb", "bench", "out"))
    collection = tmp_path / "collection.json"
    collection.write_bytes(msgspec.json.encode(collection_of(case)))
    for words in (
        ["ingest", "--wikidata", str(case / "wikidata.json.bz2"), "--pages", str(case / "kilt_ks.jsonl"),
         "--views", str(case / "pageviews.bz2"), "--views-rules", "published", "--workers", "1", kb],
        ["build", "amber", kb, bench, "--collection", str(collection), "--rules", "published"],
        ["export", bench, out, "--format", "amber"],
    ):  # fmt: skip
        done = CliRunner().invoke(whichone, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert lines(Path(out) / "amber_set_tuples.jsonl") == lines(
        case / "expected" / "4_amber_set_tuples.jsonl"
    )
    for task in TASKS:
        assert lines(Path(out) / task / "amber_sets.jsonl") == lines(
            case / "expected" / f"5_{task}_amber_sets.jsonl"
        )
