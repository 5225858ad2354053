"""MediaWiki XML: real dumps with pinned counts, and broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.files.lines import open_binary
from whichone.knowledge.formats.wiki_site import is_disambiguation, read_site, site_for
from whichone.knowledge.formats.wikipedia import read_part

SHORTENED = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SITE = site_for("enwiki", "en")


def read(path: Path) -> bytes:
    with open_binary(path) as stream:
        return stream.read()


def page(title: str, text: str, *, number: int = 7, ns: int = 0, extra: str = "") -> bytes:
    return (
        f"<page><title>{title}</title><ns>{ns}</ns><id>{number}</id>{extra}<revision><id>70</id>"
        f"<parentid>69</parentid><timestamp>2020-01-01T00:00:00Z</timestamp>"
        f"<text>{text}</text></revision></page>"
    ).encode()


def test_a_real_dump(shared: Path) -> None:
    data = read(shared / "data/dumps" / SHORTENED)
    site = read_site(data[:100_000])
    assert (site.name, site.language, site.namespaces["template talk"]) == ("enwiki", "en", 11)
    part = read_part(data, site)
    tables = part.tables()
    assert {name: table.num_rows for name, table in tables.items()} == {
        "pages": 106, "links": 22_757, "redirects": 99, "templates": 0, "uses": 98,
    }  # fmt: skip
    assert part.refused == []
    pages = {row["title"]: row for row in tables["pages"].to_pylist()}
    lincoln = pages["Abraham Lincoln"]
    assert lincoln["page"] == "enwiki:307"
    assert lincoln["paragraphs"][0] == "Abraham Lincoln\n"
    assert "Section::::Family and childhood.:Marriage and children.\n" in lincoln["paragraphs"]
    assert "Presidents of the United States" in lincoln["categories"]
    listed = sorted(t for t, row in pages.items() if row["kind"] == "disambiguation")
    assert listed == [
        "Aa River", "Aberdeen (disambiguation)", "Ada", "Alien", "Animal (disambiguation)",
        "Argument (disambiguation)", "Asia Minor (disambiguation)", "Austin (disambiguation)",
    ]  # fmt: skip
    redirects = {row["title"]: row["target"] for row in tables["redirects"].to_pylist()}
    assert redirects["AccessibleComputing"] == "Computer accessibility"
    text = {row["page"]: row["paragraphs"] for row in pages.values()}
    for link in tables["links"].to_pylist():
        assert text[link["page"]][link["paragraph"]][link["start"] : link["end"]] == link["text"]


def test_redirects_of_old_dumps_and_other_languages() -> None:
    de = site_for("dewiki", "de")
    part = read_part(page("A", "#WEITERLEITUNG [[b_c#d]]"), de)
    assert part.tables()["redirects"].to_pylist() == [{"title": "A", "target": "B c", "target_page": None}]
    assert read_part(page("A", "#weiter unten"), de).counts["article pages"] == 1


def test_a_page_of_another_namespace_or_model_is_counted() -> None:
    part = read_part(page("Talk:A", "x", ns=1), SITE)
    assert part.counts["pages of other namespaces"] == 1
    assert part.tables()["pages"].num_rows == 0


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"<page><title>A</title><id>1</id>", "ends within a page"),
        (b"<page><title>A</title></page>", "without title or id"),
        (b"<page><title>A</title><id>x</id></page>", "page x"),
        (b"<page><title>A&b;</title><id>1</id></page>", "not well-formed"),
        (b"<page><title>\xff</title><id>1</id></page>", "not well-formed"),
        (b"<page><!DOCTYPE a [<!ENTITY b 'c'>]><id>1</id></page>", "not well-formed"),
    ],
)
def test_a_broken_page_is_refused_with_its_place(broken: bytes, reason: str) -> None:
    part = read_part(page("Good", "x") + broken, SITE)
    assert part.tables()["pages"].num_rows == 1
    [(offset, said)] = part.refused
    assert offset == len(page("Good", "x"))
    assert reason in said


def test_the_wrong_kind_of_dump_is_an_error() -> None:
    with pytest.raises(BadInput, match="not a MediaWiki XML dump"):
        read_site(b'[\n{"type":"item"}', file="wikidata.json")


@pytest.mark.parametrize(
    ("language", "title", "templates", "categories", "expected"),
    [
        ("en", "Ada", ["Geodis"], [], True),
        ("en", "Ada", ["hndis"], [], True),
        ("en", "Ada", ["Surname"], [], False),
        ("en", "Ada (disambiguation)", [], [], True),
        ("de", "Ada", ["Begriffsklärung"], [], True),
        ("fr", "Ada", ["Homonymie"], [], True),
        ("fr", "Ada (homonymie)", [], [], True),
        ("ja", "エイダ", ["Aimai"], [], True),
        ("en", "Ada", [], ["Disambiguation pages"], True),
        ("xx", "Ada", ["Disambig"], [], True),
        ("xx", "Ada", [], [], False),
    ],
)
def test_disambiguation_pages(
    language: str, title: str, templates: list[str], categories: list[str], expected: bool
) -> None:
    site = site_for(f"{language}wiki", language)
    assert is_disambiguation(title, templates, categories, site) is expected


GERMAN = """<mediawiki xml:lang="de"><siteinfo><dbname>dewiki</dbname><case>first-letter</case>
<namespaces><namespace key="0" /><namespace key="6">Datei</namespace>
<namespace key="14">Kategorie</namespace><namespace key="3">Benutzer Diskussion</namespace>
</namespaces></siteinfo>"""


def test_another_language() -> None:
    text = (
        "[[Datei:Ada.jpg|mini|Ein [[Bild]]]]'''Ada''' war [[mathematik]]erin, siehe [[Bild:B.png]]"
        "[[Benutzer Diskussion:X|X]].\n[[Kategorie:Frau|Ada]]\n[[:Kategorie:Mann]]\n[[en:Ada]]"
    )
    site = read_site(GERMAN.encode())
    assert (site.name, site.language) == ("dewiki", "de")
    part = read_part(GERMAN.encode() + page("Ada", text), site)
    [row] = part.tables()["pages"].to_pylist()
    assert row["page"] == "dewiki:7"
    assert row["paragraphs"] == ["Ada\n", "Ada war mathematikerin, siehe X.\n", "Kategorie:Mann\n"]
    assert row["categories"] == ["Frau"]
    assert part.tables()["links"].column("target").to_pylist() == ["Mathematik"]
    assert part.counts["dropped files"] == 2


def test_a_cut_that_calls_itself_english(shared: Path) -> None:
    data = read(shared / "data/dumps/simple.wiki.xml.bz2")
    assert (read_site(data).name, read_site(data).language) == ("enwiki", "en")
    site = read_site(data, language="simple")
    assert (site.name, site.language) == ("simplewiki", "simple")
    assert site.namespaces["template talk"] == 11


def test_an_old_dump_without_namespace_numbers() -> None:
    old = page("Datei:A.jpg", "x").replace(b"<ns>0</ns>", b"")
    part = read_part(old, site_for("dewiki", "de"))
    assert part.counts["pages of other namespaces"] == 1
    assert read_part(old.replace(b"Datei:", b"2001: "), SITE).counts["article pages"] == 1
