"""The four dump formats, written from one small world and read back by plain parsers."""

from __future__ import annotations

import bz2
import gzip
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.world.compile import KILT, VIEWS, WIKIDATA, WIKIPEDIA, compile_source

NAMESPACE = "{http://www.mediawiki.org/xml/export-0.10/}"
FILLER = " ".join(["word"] * 60)

TOML = """
name = "Ann Example"

[[entity]]
id = "Q900000101"
label = "Ann Example"
aliases = ["Annie Example"]
types = ["human"]
description = "trombonist"
page = "Ann Example (musician)"
redirects = ["Annie Example"]
views = 300

[[entity.fact]]
property = "P1303"
value = "trombone"
source = "a book"

[[entity]]
id = "Q900000102"
label = "Anna Example"
aliases = ["Ann Example"]
types = ["human"]
description = "player & coach"
page = "Anna Example"
views = 9000

[[entity.fact]]
property = "P1082"
quantity = 12345
source = "a count"
"""
VALUES = """
[[value]]
id = "Q900000901"
label = "trombone"
types = ["instrument"]
page = "Trombone"
views = 20
"""
PAGES = f"""# Ann Example (musician)

Ann Example played the [[Trombone|trombone]] and knew [[!Nobody]]. {FILLER}

## Career

### Early years

- first [[Anna Example|post]]
- second post

Category: Trombonists
Category: Examples

# Anna Example

Anna Example is read by 12,345 people. A < B. {FILLER}

# Trombone

A trombone. {FILLER}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "human").mkdir(parents=True)
    (folder / "human" / "ann-example.toml").write_text(TOML)
    (folder / "human" / "values.toml").write_text(VALUES)
    (folder / "human" / "ann-example.md").write_text(PAGES)
    (folder / "properties.toml").write_text(
        'P1303 = "instrument"\n[P1082]\nlabel = "population"\ndatatype = "quantity"\n'
    )
    (folder / "types.toml").write_text('human = "Q5"\ninstrument = "Q34379"\n')
    return folder


@pytest.fixture
def dumps(source: Path, tmp_path: Path) -> dict[str, bytes]:
    files = compile_source(source, tmp_path / "out")
    return {
        name: (gzip if name.endswith(".gz") else bz2).decompress(path.read_bytes())
        for name, path in files.items()
    }


def test_wikidata_is_an_array_with_one_entity_a_line(dumps: dict[str, bytes]) -> None:
    lines = dumps[WIKIDATA].decode().splitlines()
    assert lines[0] == "[" and lines[-1] == "]"
    assert all(line.endswith(",") for line in lines[1:-2])
    assert not lines[-2].endswith(",")
    entities = {e["id"]: e for e in json.loads(dumps[WIKIDATA])}
    assert entities["P1082"]["type"] == "property"
    assert entities["P1082"]["datatype"] == "quantity"
    ann = entities["Q900000101"]
    assert ann["labels"]["en"] == {"language": "en", "value": "Ann Example"}
    assert ann["aliases"]["en"] == [{"language": "en", "value": "Annie Example"}]
    assert ann["sitelinks"]["enwiki"]["title"] == "Ann Example (musician)"
    snak = ann["claims"]["P1303"][0]["mainsnak"]
    assert snak["datavalue"] == {
        "value": {"entity-type": "item", "numeric-id": 900000901, "id": "Q900000901"},
        "type": "wikibase-entityid",
    }
    assert ann["claims"]["P31"][0]["mainsnak"]["datavalue"]["value"]["id"] == "Q5"
    reference = ann["claims"]["P1303"][0]["references"][0]["snaks"]["P5997"][0]
    assert reference["datavalue"]["value"] == "a book"
    amount = entities["Q900000102"]["claims"]["P1082"][0]["mainsnak"]["datavalue"]["value"]
    assert amount == {"amount": "+12345", "unit": "1"}
    assert '"enwiki"' not in lines[-2]  # the published program passes over such a last line


def test_mediawiki_has_pages_redirects_and_a_disambiguation_page(dumps: dict[str, bytes]) -> None:
    root = ET.fromstring(dumps[WIKIPEDIA])
    assert root.find(f"{NAMESPACE}siteinfo/{NAMESPACE}dbname").text == "enwiki"  # type: ignore[union-attr]
    pages = {p.findtext(f"{NAMESPACE}title"): p for p in root.iter(f"{NAMESPACE}page")}
    assert sorted(pages) == [
        "Ann Example", "Ann Example (musician)", "Anna Example", "Annie Example", "Trombone",
    ]  # fmt: skip
    ids = [int(p.findtext(f"{NAMESPACE}id") or 0) for p in pages.values()]
    assert ids == [1001, 1002, 1003, 1004, 1005]
    redirect = pages["Annie Example"].find(f"{NAMESPACE}redirect")
    assert redirect is not None and redirect.get("title") == "Ann Example (musician)"
    text = pages["Ann Example"].findtext(f"{NAMESPACE}revision/{NAMESPACE}text") or ""
    assert text.splitlines()[2:4] == [
        "* [[Anna Example]], player & coach",  # the most viewed bearer comes first
        "* [[Ann Example (musician)]], trombonist",
    ]
    assert "{{disambiguation}}" in text
    article = pages["Ann Example (musician)"].findtext(f"{NAMESPACE}revision/{NAMESPACE}text") or ""
    assert "[[Trombone|trombone]] and knew [[Nobody]]" in article
    assert "\n== Career ==\n\n=== Early years ===\n\n* first [[Anna Example|post]]\n* second" in article
    assert article.endswith("[[Category:Trombonists]]\n[[Category:Examples]]")


def test_kilt_source_has_spans_that_fit(dumps: dict[str, bytes]) -> None:
    pages = {p["wikipedia_title"]: p for p in map(json.loads, dumps[KILT].splitlines())}
    assert "Annie Example" not in pages
    ann = pages["Ann Example (musician)"]
    assert ann["_id"] == ann["wikipedia_id"] == "1002"
    assert ann["text"][0] == "Ann Example (musician)\n"
    assert ann["text"][2:] == [
        "Section::::Career.\n",
        "Section::::Career:Early years.\n",
        "BULLET::::- first post\n",
        "BULLET::::- second post\n",
    ]
    assert [a["href"] for a in ann["anchors"]] == ["Trombone", "Nobody", "Anna%20Example"]
    for anchor in ann["anchors"]:
        shown = ann["text"][anchor["paragraph_id"]][anchor["start"] : anchor["end"]]
        assert shown == anchor["text"]
    assert ann["categories"] == "Trombonists,Examples"
    assert ann["wikidata_info"]["wikidata_id"] == "Q900000101"
    assert ann["history"]["pageid"] == 1002


def test_views_file(dumps: dict[str, bytes]) -> None:
    rows = [line.split() for line in dumps[VIEWS].decode().splitlines() if line[0] != "#"]
    assert ["en.z", "Ann_Example_(musician)", "300"] in rows
    assert ["en.z", "Anna_Example", "9000"] in rows
    assert all(len(row) == 3 for row in rows)


def test_same_source_same_bytes(source: Path, tmp_path: Path) -> None:
    one = compile_source(source, tmp_path / "one")
    two = compile_source(source, tmp_path / "two")
    assert [p.read_bytes() for p in one.values()] == [p.read_bytes() for p in two.values()]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("ann-example.toml", 'value = "trombone"', 'value = "tuba"', "neither a value nor an entity"),
        ("ann-example.toml", "12345", "54321", "appears in the first 350 words"),
        ("ann-example.toml", "views = 9000", "views = 310", "less than a tenth"),
        ("ann-example.toml", '"Q900000102"', '"Q900000101"', "is also used at"),
        ("ann-example.toml", 'types = ["human"]', 'types = ["robot"]', "unknown type 'robot'"),
        ("ann-example.toml", 'source = "a book"', 'source = ""', "no source"),
        ("ann-example.toml", 'property = "P1303"', 'property = "P1"', "unknown property"),
        ("ann-example.toml", '"Ann Example"]', '"An Example"]', "does not bear the name"),
        ("ann-example.md", "[[!Nobody]]", "[[Nobody]]", "leads nowhere"),
        ("ann-example.md", "[[Trombone|", "[[!Trombone|", "is marked red but is there"),
        ("ann-example.md", "# Trombone\n\nA trombone. word", "# Trombone\n\nword", "60 words"),
    ],
)
def test_a_broken_rule_is_named_with_its_place(
    source: Path, tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    path = source / "human" / file
    text = path.read_text()
    assert old in text
    replaced = text.replace(old, new)
    if message == "60 words":
        replaced, message = replaced.replace("word word word word", "word"), "not 60 to 250"
    path.write_text(replaced)
    with pytest.raises(BadInput, match=message) as caught:
        compile_source(source, tmp_path / "out")
    assert file in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_is_not_toml_is_named(source: Path, tmp_path: Path) -> None:
    (source / "human" / "ann-example.toml").write_text("name = \n")
    with pytest.raises(BadInput, match=r"ann-example\.toml: not TOML"):
        compile_source(source, tmp_path / "out")


def test_unknown_fields_are_named(source: Path, tmp_path: Path) -> None:
    path = source / "human" / "ann-example.toml"
    path.write_text(path.read_text().replace("views = 300", "vews = 300"))
    with pytest.raises(BadInput, match="vews"):
        compile_source(source, tmp_path / "out")
