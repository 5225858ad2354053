"""The built-in world keeps its own rules, is as large as promised, and compiles to the real formats."""

from __future__ import annotations

import bz2
import gzip
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from whichone.world.compile import KILT, VIEWS, WIKIDATA, WIKIPEDIA, compile_builtin, problems
from whichone.world.source import BUILTIN, WorldSource, read_source

TABLE_3 = {
    "human": "P1303 P135 P1441 P157 P185 P241 P413 P54 P607 P641",
    "album": "P175 P264 P658",
    "business": "P452",
    "city": "P1082",
    "film": "P161 P58",
    "literary work": "P50",
    "musical group": "P264",
    "song": "P175 P264",
    "television series": "P161 P2437 P58",
    "written work": "P50",
}
TYPES = {
    "human": "Q5", "album": "Q482994", "business": "Q4830453", "city": "Q515", "film": "Q11424",
    "literary work": "Q7725634", "musical group": "Q215380", "song": "Q7366",
    "television series": "Q5398426", "written work": "Q47461344",
}  # fmt: skip
SPACE = "{http://www.mediawiki.org/xml/export-0.10/}"


@pytest.fixture(scope="module")
def source() -> WorldSource:
    return read_source()


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return compile_builtin(tmp_path_factory.mktemp("dumps"))


def test_every_rule_of_the_format_holds(source: WorldSource) -> None:
    assert problems(source) == []


def test_it_is_as_large_as_promised(source: WorldSource) -> None:
    assert len(source.names) >= 60
    assert len({e.id for name in source.names for e in name.entity}) >= 160
    assert len(source.pages) >= 220
    assert sum(bool(e.redirects) for e in source.entities()) >= 60


def test_every_type_and_property_of_table_3_has_a_fact(source: WorldSource) -> None:
    pairs = {
        (source.types[t].id, fact.property)
        for name in source.names
        for entity in name.entity
        for t in entity.types
        for fact in entity.fact
    }
    wanted = {(TYPES[t], prop) for t, props in TABLE_3.items() for prop in props.split()}
    assert wanted - pairs == set()


@pytest.mark.parametrize("name", ["Abe Lincoln", "Napoleon", "Yoko Ono", "Apple", "Her"])
def test_the_papers_examples_are_there(source: WorldSource, name: str) -> None:
    bearers = [e for file in source.names if file.name == name for e in file.entity]
    assert len(bearers) >= 2
    assert all(e.fact for e in bearers[:2])


def test_views_differ_as_real_ones_do(source: WorldSource) -> None:
    views = sorted(e.views for name in source.names for e in name.entity if e.views)
    assert views[-1] > 1000 * views[0]


def test_the_dumps_can_be_read_and_agree(source: WorldSource, dumps: dict[str, Path]) -> None:
    entities = {e["id"]: e for e in json.loads(bz2.decompress(dumps[WIKIDATA].read_bytes()))}
    pages = [json.loads(line) for line in gzip.decompress(dumps[KILT].read_bytes()).splitlines()]
    root = ET.fromstring(bz2.decompress(dumps[WIKIPEDIA].read_bytes()))
    exported = {p.findtext(f"{SPACE}title"): p.findtext(f"{SPACE}id") for p in root.iter(f"{SPACE}page")}
    assert len(pages) == len(source.pages) + len(source.names)
    for page in pages:
        assert exported[page["wikipedia_title"]] == page["wikipedia_id"]
        if "wikidata_info" in page:
            item = entities[page["wikidata_info"]["wikidata_id"]]
            assert item["sitelinks"]["enwiki"]["title"] == page["wikipedia_title"]
    explained = [p for p in root.iter(f"{SPACE}page") if "{{disambiguation}}" in _wikitext(p)]
    assert len(explained) == len(source.names)
    _values_resolve(entities)


def _wikitext(page: ET.Element) -> str:
    return page.findtext(f"{SPACE}revision/{SPACE}text") or ""


def _values_resolve(entities: dict[str, dict[str, Any]]) -> None:
    for entity in entities.values():
        for prop, claims in entity["claims"].items():
            assert prop in entities or prop == "P31"
            for claim in claims:
                value = claim["mainsnak"]["datavalue"]["value"]
                assert "id" not in value or value["id"] in entities


def test_views_are_those_of_the_source(source: WorldSource, dumps: dict[str, Path]) -> None:
    lines = bz2.decompress(dumps[VIEWS].read_bytes()).decode().splitlines()
    counted = {row[1]: int(row[2]) for row in (line.split() for line in lines if line[0] != "#")}
    for name in source.names:
        for entity in name.entity:
            assert entity.page is not None
            assert counted[entity.page.replace(" ", "_")] == entity.views


def test_it_is_small_and_always_the_same(dumps: dict[str, Path], tmp_path: Path) -> None:
    assert sum(path.stat().st_size for path in dumps.values()) < 3_000_000
    assert sum(path.stat().st_size for path in BUILTIN.rglob("*") if path.is_file()) < 3_000_000
    again = compile_builtin(tmp_path)
    for name, path in dumps.items():
        assert again[name].read_bytes() == path.read_bytes()
