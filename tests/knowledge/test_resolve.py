"""What links, redirects and pages refer to, through a whole ingest of real and small dumps."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.formats.sources import pages_source
from whichone.knowledge.formats.wiki_dumps import ViewsFile
from whichone.knowledge.ingest import ingest
from whichone.knowledge.ingest_options import IngestOptions
from whichone.knowledge.knowledge_tables import KIND


def page(number: int, title: str, text: str, redirect: str = "") -> str:
    moved = f'<redirect title="{redirect}" />' if redirect else ""
    return (
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id>{moved}<revision><id>1</id>"
        f"<text>{text}</text></revision></page>\n"
    )


def dump(path: Path, pages: Iterable[str]) -> Path:
    path.write_text(f'<mediawiki xml:lang="en">\n{"".join(pages)}</mediawiki>\n')
    return path


WORLD = [
    page(1, "Ada (film)", "A film by [[Ann]] and [[Bob|Robert]]. [[Bobby]] is [[Nobody]]."),
    page(2, "Bob", "Saw [[Ada (film)|Ada]], [[Ada (film)|Ada]] and [[The film]]."),
    page(3, "Bobby", "", redirect="Rob"),
    page(4, "Rob", "", redirect="Bob"),
    page(5, "Round", "", redirect="About"),
    page(6, "About", "", redirect="Round"),
    page(7, "The film", "", redirect="Ada (film)"),
    page(8, "Ada", "{{disambiguation}} [[Ada (film)]]"),
]


def rows(base: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Folder.open(base, KIND).table(table).to_pylist()
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    ingest(tmp_path / "kb", [pages_source(dump(tmp_path / "w.xml", WORLD))])
    return tmp_path / "kb"


def test_links_find_their_page_through_redirects(base: Path) -> None:
    found = {(r["page"], r["target"]): r["target_page"] for r in rows(base, "links")}
    assert found == {
        ("enwiki:1", "Ann"): None,
        ("enwiki:1", "Bob"): "enwiki:2",
        ("enwiki:1", "Bobby"): "enwiki:2",
        ("enwiki:1", "Nobody"): None,
        ("enwiki:2", "Ada (film)"): "enwiki:1",
        ("enwiki:2", "The film"): "enwiki:1",
        ("enwiki:8", "Ada (film)"): "enwiki:1",
    }


def test_redirects_end_at_a_page_and_circles_nowhere(base: Path) -> None:
    found = {r["title"]: (r["target"], r["target_page"]) for r in rows(base, "redirects")}
    assert found == {
        "Bobby": ("Rob", "enwiki:2"),
        "Rob": ("Bob", "enwiki:2"),
        "Round": ("About", None),
        "About": ("Round", None),
        "The film": ("Ada (film)", "enwiki:1"),
    }


def test_names_of_pages_come_from_titles_redirects_and_anchors(base: Path) -> None:
    found = {(r["name"], r["kind"], r["count"]) for r in rows(base, "names") if r["entity"] == "enwiki:1"}
    assert found == {
        ("Ada (film)", "title", 1),
        ("Ada", "title", 1),
        ("The film", "redirect", 1),
        ("Ada", "anchor", 2),
        ("Ada (film)", "anchor", 1),
        ("The film", "anchor", 1),
    }
    assert {r["entity"] for r in rows(base, "names")} == {"enwiki:1", "enwiki:2"}


def test_the_tables_do_not_depend_on_what_came_first(tmp_path: Path) -> None:
    halves = [dump(tmp_path / "a.xml", WORLD[:3]), dump(tmp_path / "b.xml", WORLD[3:])]
    views = tmp_path / "views.txt"
    views.write_text("en.z Bob 5\nen.z ada_(film) 7\n")
    ingest(tmp_path / "one", [*map(pages_source, halves), ViewsFile(views)])
    for source in (ViewsFile(views), pages_source(halves[1]), pages_source(halves[0])):
        ingest(tmp_path / "three", [source])
    one, three = (Folder.open(tmp_path / name, KIND) for name in ("one", "three"))
    for table in ("links", "redirects", "names", "views"):
        assert one.table(table).equals(three.table(table)), table
    assert rows(tmp_path / "one", "views") == [
        {"title": "Ada (film)", "views": 7, "source": "views.txt"},
        {"title": "Bob", "views": 5, "source": "views.txt"},
    ]


def test_pages_learn_their_entity_from_kilt(tmp_path: Path, shared: Path) -> None:
    source = shared / "golden/amber_build/world1/kilt_knowledgesource.json.gz"
    ingest(tmp_path / "kb", [pages_source(source)])
    records = [json.loads(line) for line in gzip.decompress(source.read_bytes()).splitlines()]
    about = {
        f"enwiki:{r['wikipedia_id']}": r["wikidata_info"]["wikidata_id"]
        for r in records
        if r.get("wikidata_info")
    }
    assert {r["page"]: r["entity"] for r in rows(tmp_path / "kb", "pages") if r["entity"]} == about


def test_a_real_dump_gives_the_same_bytes_with_two_workers(tmp_path: Path, shared: Path) -> None:
    dumped = shared / "data/dumps/en.wiki.xml.bz2"
    made = [ingest(tmp_path / f"kb{n}", [pages_source(dumped)], IngestOptions(workers=n)) for n in (1, 2)]
    assert made[0].files == made[1].files
    assert made[0].counts["links"] == 4979


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2", "utf16"])
def test_compressed_dumps_give_the_same_tables(tmp_path: Path, base: Path, suffix: str) -> None:
    plain = (tmp_path / "w.xml").read_bytes()
    packed = {
        "gz": gzip.compress, "zst": zstandard.compress, "bz2": bz2.compress,
        "utf16": lambda data: data.decode().encode("utf-16"),
    }[suffix](plain)  # fmt: skip
    (tmp_path / f"w.xml.{suffix}").write_bytes(packed)
    made = ingest(tmp_path / "other", [pages_source(tmp_path / f"w.xml.{suffix}")])
    assert made.files == Folder.open(base, KIND).manifest.files


def test_a_broken_page_stops_or_is_skipped(tmp_path: Path) -> None:
    broken = dump(tmp_path / "w.xml", [*WORLD, "<page><title>&b;</title><id>9</id></page>"])
    with pytest.raises(BadInput, match=r"not well-formed XML.*at byte \d+"):
        ingest(tmp_path / "kb", [pages_source(broken)])
    skipping = IngestOptions(on_error="skip", bad_share=0.5)
    made = ingest(tmp_path / "kb", [pages_source(broken)], skipping)
    assert made.counts["pages"] == 3
    assert made.sources[0]["counts"]["refused"] == 1


def test_a_dump_of_another_project_is_refused(tmp_path: Path, shared: Path) -> None:
    with pytest.raises(BadInput, match="none of its 47 pages is an article"):
        ingest(tmp_path / "kb", [pages_source(shared / "data/dumps/wikidata.wiki.xml.bz2")])


def test_overlapping_dumps_are_refused(tmp_path: Path) -> None:
    both = [dump(tmp_path / "a.xml", WORLD), dump(tmp_path / "b.xml", WORLD[:2])]
    with pytest.raises(BadInput, match=r"more than one of the dumps \(enwiki:1, enwiki:2\)"):
        ingest(tmp_path / "kb", [*map(pages_source, both)])


def test_a_dump_that_is_cut_between_pages_is_refused(tmp_path: Path) -> None:
    cut = tmp_path / "cut.xml"
    cut.write_text("<mediawiki>" + WORLD[0])
    with pytest.raises(BadInput, match="cut off"):
        ingest(tmp_path / "kb", [pages_source(cut)])


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "x.sql"
    other.write_text("INSERT INTO page")
    with pytest.raises(BadInput, match="neither a MediaWiki XML dump nor KILT"):
        pages_source(other)
