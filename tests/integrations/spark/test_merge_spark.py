"""Merging by the workers of a real cluster: the same bytes as DuckDB writes, from every kind of source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_ingest_spark import entity

from whichone.files import manifest
from whichone.files import tables as files_tables
from whichone.files.folder import Folder
from whichone.files.tables import ROW_GROUP
from whichone.knowledge import knowledge_tables
from whichone.knowledge.formats.sources import Source
from whichone.knowledge.formats.wiki_dumps import ViewsFile
from whichone.knowledge.formats.wikidata import WikidataDump, WikidataSelection
from whichone.knowledge.ingest import chosen_sources, ingest
from whichone.knowledge.ingest_options import IngestOptions
from whichone.world.compile import compile_builtin

if TYPE_CHECKING:
    from conftest import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.java]
pytest.importorskip("pyspark")

Given = Callable[[Path], list[list[Source]]]
"""The sources of each call of `ingest`, from a folder with the dumps of the built-in world."""


def wikipedia(world: Path) -> list[list[Source]]:
    """Links, redirects, pages that list namesakes; what is there already is merged with what comes."""
    pages = chosen_sources(pages=[world / "pages-articles.xml.bz2"])
    wikidata = WikidataDump(world / "wikidata.json.bz2", WikidataSelection(superclasses=True))
    return [pages, [wikidata, ViewsFile(world / "pagecounts-totals.bz2")]]


def kilt(world: Path) -> list[list[Source]]:
    wikidata = WikidataDump(world / "wikidata.json.bz2", WikidataSelection(without_page=True))
    views = ViewsFile(world / "pagecounts-totals.bz2", rules="published")
    pages = chosen_sources(pages=[world / "kilt_knowledgesource.json.gz"])
    return [[wikidata, *pages, views]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("world")
    compile_builtin(place)
    return place


@pytest.mark.parametrize("given", [wikipedia, kilt])
def test_the_same_knowledge_base(
    given: Given, world: Path, tmp_path: Path, lasting_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    manifests = {}
    for options in (IngestOptions(), IngestOptions(engine="spark", master=lasting_cluster.url)):
        for sources in given(world):
            manifests[options.engine] = ingest(tmp_path / options.engine, sources, options)
        Folder.open(tmp_path / options.engine, knowledge_tables.KIND).verify()
    assert manifests["spark"].files == manifests["duckdb"].files
    assert manifests["spark"].counts == manifests["duckdb"].counts
    assert manifests["spark"].sources == manifests["duckdb"].sources
    assert min(manifests["spark"].counts[t] for t in ("entities", "names", "pages", "views")) > 50


def test_dumps_are_hashed_and_tables_written_in_parts(
    tmp_path: Path, lasting_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100,800 facts in parts of 65,536 rows; 12 MB of JSON in blocks of 5."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setattr(files_tables, "PART", ROW_GROUP)
    monkeypatch.setattr(manifest, "CONTENT_HASH_BLOCK", 5 << 20)
    dump = tmp_path / "wikidata.json"
    dump.write_text("[\n" + ",\n".join(map(entity, range(7_200))) + "\n]\n")
    manifests = {}
    for options in (IngestOptions(), IngestOptions(engine="spark", master=lasting_cluster.url)):
        source = WikidataDump(dump, WikidataSelection())
        manifests[options.engine] = ingest(tmp_path / options.engine, [source], options)
    assert manifests["spark"].files == manifests["duckdb"].files
    assert manifests["spark"].sources == manifests["duckdb"].sources
    assert manifests["spark"].files["facts.parquet"].rows == ROW_GROUP
    assert manifests["spark"].files["facts-00001.parquet"].rows == 100_800 - ROW_GROUP
    data = dump.read_bytes()
    blocks = (data[start : start + (5 << 20)] for start in range(0, len(data), 5 << 20))
    digests = b"".join(hashlib.sha256(block).digest() for block in blocks)
    expected = "blocks:" + hashlib.sha256(digests).hexdigest()
    assert manifests["spark"].sources[0]["sha256"] == expected
