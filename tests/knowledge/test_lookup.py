"""Lookups: entities, pages, bearers, addresses, and names as one types them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_base import name, small_base

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge import lookup as lookup_module
from whichone.knowledge import lookup_build
from whichone.knowledge.knowledge_tables import ALL, KIND, NAMES
from whichone.knowledge.lookup import Lookup
from whichone.knowledge.lookup_build import LOOKUP


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lookup]:
    with Lookup.open(small_base(tmp_path_factory.mktemp("lookup") / "kb")) as found:
        yield found


def test_entities_and_pages_by_id(lookup: Lookup) -> None:
    lincoln = lookup.entity("Q1")
    assert lincoln is not None
    assert (lincoln.label, lincoln.types, lincoln.popularity) == ("Abraham Lincoln", ("Q5",), 9000)
    page = lookup.page("enwiki:307")
    assert page is not None
    assert (page.title, page.entity) == ("Abraham Lincoln", "Q1")
    assert lookup.entity("Q404") is None
    assert lookup.page("enwiki:404") is None
    assert [p.page for p in lookup.pages_of("Q2")] == ["enwiki:8"]


def test_a_page_stands_for_an_entity_that_is_not_known(lookup: Lookup) -> None:
    city = lookup.entity("enwiki:9")
    assert city is not None
    assert city.label == "Lincoln"


@pytest.mark.parametrize(
    ("title", "page"),
    [
        ("Abraham Lincoln", "enwiki:307"),
        ("abraham_Lincoln", "enwiki:307"),
        ("Abe Lincoln", "enwiki:307"),
        ("Nowhere", None),
        ("Nobody", None),
    ],
)
def test_titles_through_redirects(lookup: Lookup, title: str, page: str | None) -> None:
    found = lookup.page_of_title(title)
    assert (found.page if found else None) == page


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://en.wikipedia.org/wiki/Abe_Lincoln", "enwiki:307"),
        ("https://en.m.wikipedia.org/wiki/Caf%C3%A9_Z%C3%BCrich_%26_Co#History", "enwiki:10"),
        ("http://en.wikipedia.org/w/index.php?title=Abe_Lincoln_(musician)&oldid=5", "enwiki:8"),
        ("https://en.wikipedia.org/?curid=307", "enwiki:307"),
        ("https://de.wikipedia.org/wiki/Abraham_Lincoln", None),
        ("https://example.org/a/Lincoln", "enwiki:9"),
        ("https://en.wikipedia.org/wiki/", None),
    ],
)
def test_addresses(lookup: Lookup, url: str, page: str | None) -> None:
    found = lookup.page_of_url(url)
    assert (found.page if found else None) == page


def test_bearers_come_with_the_most_popular_first(lookup: Lookup) -> None:
    found = [(b.about.entity, b.kinds, b.links) for b in lookup.bearers("ABE  lincoln")]
    assert found == [("Q1", ("alias", "redirect"), 0), ("Q2", ("label", "title"), 0)]
    assert [(b.about.entity, b.links) for b in lookup.bearers("Lincoln")] == [("Q1", 40), ("enwiki:9", 3)]
    assert lookup.bearers("nobody") == []
    assert ("Lincoln", ("anchor",), 40) in lookup.names_of("Q1")


def test_names_as_one_types(lookup: Lookup) -> None:
    def names(text: str) -> list[str]:
        return [s.name for s in lookup.search(text).names]

    assert names("ab")[:2] == ["Abe Lincoln", "Abraham Lincoln"]
    assert names("linc")[:2] == ["Lincoln", "Lincoln, Nebraska [city*]"]
    assert "Abraham Lincoln" in names("linc")
    assert names("ham lin") == ["Abraham Lincoln"]
    assert names("[city*") == ["Lincoln, Nebraska [city*]"]
    assert names("zür") == ["Café Zürich"]
    assert names("zur") == []
    assert names("リン") == ["リンカーン"]
    assert names("  ") == []


def _many(path: Path, count: int) -> tuple[Path, list[str]]:
    rng = random.Random(3)
    syllables = ["ba", "lo", "mi", "ra", "ten", "sko", "ü", "an", " "]
    keys = ["".join(rng.choices(syllables, k=rng.randint(3, 7))).strip() or "x" for _ in range(count)]
    rows = [name(f"Q{n}", key, "label") for n, key in enumerate(keys)]
    with Folder.create(path, KIND) as folder:
        for table in ALL:
            folder.write(table, table.from_rows(rows if table is NAMES else []))
        folder.commit(counts={"names": count})
    return path, keys


def test_searching_many_names_finds_what_a_plain_scan_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, keys = _many(tmp_path / "kb", 6000)
    monkeypatch.setattr(lookup_module, "_FEW", 50)
    monkeypatch.setattr(lookup_module, "_TIERS", (100, 1000))
    monkeypatch.setattr(lookup_module, "_PATIENCE", 1e9)
    stored = sorted({row["key"] for row in Folder.open(base, KIND).table("names").to_pylist()})
    with Lookup.open(base) as lookup:
        order = {key: n for n, (key,) in enumerate(lookup.rows("select key from names order by id"))}
        for text in ["b", "ba", "bal", "balo", "ten", "anan", "skoü", "milo ra", "zzz"]:
            begun = sorted((k for k in stored if k.startswith(text)), key=order.__getitem__)
            assert [s.key for s in lookup.search_prefix(text, 20).names] == begun[:20]
            if len(text) >= 3:
                held = sorted((k for k in stored if text in k), key=order.__getitem__)
                found = lookup.search_substring(text, 20)
                assert [s.key for s in found.names] == held[:20]
                assert found.complete
    assert len(keys) > len(stored)


def test_a_search_that_is_cut_short_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, _ = _many(tmp_path / "kb", 500)
    monkeypatch.setattr(lookup_module, "_TIERS", (10,))
    monkeypatch.setattr(lookup_module, "_PATIENCE", -1.0)
    with Lookup.open(base) as lookup:
        assert not lookup.search_substring("ten").complete


def test_a_lookup_is_made_again_when_the_tables_change(tmp_path: Path) -> None:
    base = small_base(tmp_path / "kb")
    Lookup.open(base).close()
    before = (base / LOOKUP).stat().st_mtime_ns
    Lookup.open(base).close()
    assert (base / LOOKUP).stat().st_mtime_ns == before
    with Folder.create(base, KIND, extend=True) as folder:
        folder.write(NAMES, NAMES.from_rows([name("Q1", "Honest Abe", "alias")]))
        folder.commit(counts=folder.manifest.counts)
    with Lookup.open(base) as lookup:
        assert [b.about.entity for b in lookup.bearers("honest abe")] == ["Q1"]
    (base / LOOKUP).write_bytes(b"not a database")
    with Lookup.open(base) as lookup:
        assert lookup.page("enwiki:307") is not None


def test_a_lookup_that_cannot_be_made_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = small_base(tmp_path / "kb")
    before = sorted(base.iterdir())
    (base / f".{LOOKUP}.unfinished").write_bytes(b"left by a process that was killed")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(lookup_build, "_copy", full)
    with pytest.raises(BadInput, match=r"lookup\.sqlite: the disk is full \(database or disk is full\)"):
        Lookup.open(base)
    assert sorted(base.iterdir()) == before
