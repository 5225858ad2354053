"""What is read from lines of a Wikidata dump."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import pytest

from whichone.knowledge.formats.wikidata import WikidataReader, WikidataSelection
from whichone.knowledge.ingest import select


def text(language: str, value: str) -> dict[str, str]:
    return {"language": language, "value": value}


def claim(value: Any, kind: str = "wikibase-entityid", rank: str = "normal") -> dict[str, Any]:
    snak = {"snaktype": "value", "property": "P0", "datavalue": {"value": value, "type": kind}}
    return {"mainsnak": snak, "type": "statement", "rank": rank}


def item(entity: str, *, label: str | None = "X", page: str | None = "X", **fields: Any) -> dict[str, Any]:
    sitelinks = {"enwiki": {"site": "enwiki", "title": page, "badges": []}} if page else {}
    return {
        "type": "item",
        "id": entity,
        "labels": {"en": text("en", label)} if label else {},
        "descriptions": {},
        "aliases": {},
        "claims": {},
        "sitelinks": sitelinks,
        **fields,
    }


def read(*entities: Any, compact: bool = True, **wanted: Any) -> WikidataReader:
    separators = (",", ":") if compact else (", ", ": ")
    lines = [e if isinstance(e, str) else json.dumps(e, separators=separators) for e in entities]
    reader = WikidataReader(WikidataSelection(**wanted))
    reader.read(("[\n" + ",\n".join(lines) + "\n]\n").encode())
    return reader


def rows(reader: WikidataReader, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found = reader.tables()[table].select(list(columns))
    return list(zip(*(c.to_pylist() for c in found.columns), strict=True))


@pytest.mark.parametrize("compact", [True, False])
def test_names_of_the_language_keep_their_order_and_repetitions(compact: bool) -> None:
    aliases = {"en": [text("en", "B"), text("en", "A"), text("en", "B")], "de": [text("de", "Z")]}
    reader = read(item("Q1", label="A", aliases=aliases), compact=compact)
    assert rows(reader, "entities", "entity", "label", "label_language", "title") == [("Q1", "A", "en", "X")]
    assert rows(reader, "names", "name", "kind", "place") == [
        ("B", "alias", 1),
        ("A", "alias", 2),
        ("B", "alias", 3),
    ]


def test_a_page_title_is_stripped_and_has_blanks() -> None:
    reader = read(item("Q1", page=" Abe_Lincoln (musician) "))
    assert rows(reader, "entities", "title") == [("Abe Lincoln (musician)",)]


def test_fallback_languages_add_only_new_names() -> None:
    labels = {"en-gb": text("en-gb", "Colour"), "en": text("en", "Color"), "fr": text("fr", "Couleur")}
    aliases = {"en": [text("en", "Hue")], "en-gb": [text("en-gb", "Hue"), text("en-gb", "Shade")]}
    reader = read(item("Q1", labels=labels, aliases=aliases))
    assert rows(reader, "entities", "label") == [("Color",)]
    assert rows(reader, "names", "name", "language", "kind", "place") == [
        ("Hue", "en", "alias", 1),
        ("Colour", "en-gb", "label", 0),
        ("Shade", "en-gb", "alias", 2),
    ]
    only = read(item("Q1", labels={"en-gb": text("en-gb", "Colour")}))
    assert rows(only, "entities", "label", "label_language") == [("Colour", "en-gb")]


def test_values_of_every_kind_with_rank_and_order() -> None:
    claims = {
        "P54": [
            claim({"entity-type": "item", "id": "Q7"}, rank="deprecated"),
            {"mainsnak": {"snaktype": "somevalue", "property": "P54"}, "rank": "normal"},
            claim({"entity-type": "item", "numeric-id": 8}, rank="preferred"),
        ],
        "P1082": [
            claim({"amount": "-5.50", "unit": "1"}, "quantity"),
            claim({"amount": "+3", "unit": "http://www.wikidata.org/entity/Q11573"}, "quantity"),
        ],
        "P569": [claim({"time": "+1950-00-00T00:00:00Z", "precision": 9}, "time")],
        "P1476": [claim({"text": "Der Name", "language": "de"}, "monolingualtext")],
        "P856": [claim("https://example.org", "string")],
        "P625": [claim({"latitude": 1.5, "longitude": -2, "precision": 0.001}, "globecoordinate")],
        "P999": [claim({"new": 1}, "unheard-of")],
    }
    reader = read(item("Q1", claims=claims))
    columns = ("property", "kind", "value", "unit", "precision", "language", "rank", "place")
    assert rows(reader, "facts", *columns) == [
        ("P54", "entity", "Q7", None, None, None, "deprecated", 0),
        ("P54", "entity", "Q8", None, None, None, "preferred", 2),
        ("P1082", "quantity", "-5.50", None, None, None, "normal", 3),
        ("P1082", "quantity", "+3", "Q11573", None, None, "normal", 4),
        ("P569", "time", "+1950-00-00T00:00:00Z", None, 9, None, "normal", 5),
        ("P1476", "monolingual", "Der Name", None, None, "de", "normal", 6),
        ("P856", "string", "https://example.org", None, None, None, "normal", 7),
        ("P625", "coordinate", "1.5 -2.0", None, None, None, "normal", 8),
    ]
    counts = reader.counted()
    assert counts["statements without a value"] == 1
    assert counts["values of an unknown kind: unheard-of"] == 1


def test_chosen_properties_and_types() -> None:
    claims = {
        "P54": [claim({"entity-type": "item", "id": "Q7"})],
        "P31": [claim({"entity-type": "item", "id": t}) for t in ("Q5", "Q6")],
        "P999": "what is not asked for is not looked into",
    }
    reader = read(item("Q1", claims=claims), properties=("P54",))
    assert rows(reader, "facts", "property", "value") == [("P54", "Q7"), ("P31", "Q5"), ("P31", "Q6")]
    assert rows(reader, "entities", "types", "sitelinks") == [(["Q5", "Q6"], 1)]


def test_of_items_without_a_page_only_names_and_superclasses_are_kept() -> None:
    claims = {"P54": [claim({"entity-type": "item", "id": "Q7"})]}
    classes = claims | {"P279": [claim({"entity-type": "item", "id": "Q9"})]}
    entities = item("Q1", page=None, claims=claims), item("Q2", page=None, claims=classes)
    reader = read(*entities)
    assert rows(reader, "others", "entity", "label") == [("Q1", "X")]
    assert rows(reader, "entities", "entity", "label", "title") == [("Q2", "X", None)]
    assert rows(reader, "facts", "entity", "property") == [("Q2", "P279")]
    every = read(*entities, without_page=True)
    assert rows(every, "facts", "entity", "property") == [("Q1", "P54"), ("Q2", "P54"), ("Q2", "P279")]
    other = read(item("Q1", sitelinks={"dewiki": {"site": "dewiki", "title": "enwiki"}}), wiki="dewiki")
    assert rows(other, "entities", "title") == [("enwiki",)]


def test_the_short_way_and_the_long_way_give_the_same_rows() -> None:
    """The head of a line is decoded alone only where the keys appear in the usual order."""
    usual = item("Q1", page=None, claims={"P54": [claim({"entity-type": "item", "id": "Q7"})]})
    turned = {key: usual[key] for key in reversed(usual)}
    assert list(turned)[-1] == "type"
    assert read(usual).tables() == read(turned).tables()


def test_properties_keep_their_datatype_and_null_labels() -> None:
    reader = read(
        {"type": "property", "id": "P54", "datatype": "wikibase-item", "labels": {"en": text("en", "team")}},
        {"type": "property", "id": "P55", "datatype": "string", "labels": {}},
    )
    assert rows(reader, "properties", "property", "label", "datatype", "position") == [
        ("P54", "team", "wikibase-item", 0),
        ("P55", None, "string", 1),
    ]


def test_lexemes_redirects_and_empty_lists() -> None:
    reader = read(
        {"type": "lexeme", "id": "L1", "lemmas": {}},
        {"id": "Q4", "missing": ""},
        {"id": "Q3", "redirect": "Q5"},
        {"type": "item", "id": "Q6", "labels": [], "descriptions": [], "aliases": [], "claims": [],
         "sitelinks": []},
    )  # fmt: skip
    counts = reader.counted()
    assert counts["other: lexeme"] == 1
    assert counts["redirected or deleted"] == 2
    assert rows(reader, "others", "entity", "label") == [("Q6", None)]
    assert not reader.refused


def test_the_last_line_needs_no_comma_and_brackets_may_share_lines() -> None:
    lines = [json.dumps(item(f"Q{n}"), separators=(",", ":")) for n in range(3)]
    for joined in ("\n".join(lines), "[\n" + ",\n".join(lines) + "\n]", "[" + ",\r\n".join(lines) + "]\n"):
        reader = WikidataReader(WikidataSelection())
        reader.read(joined.encode())
        assert rows(reader, "entities", "entity") == [("Q0",), ("Q1",), ("Q2",)]
        assert not reader.refused
        assert reader.counts["opening brackets"] == reader.counts["closing brackets"]


def test_an_array_may_stand_on_one_line() -> None:
    items = [item("Q1"), item("Q2", page=None), item("Q3")]
    reader = WikidataReader(WikidataSelection())
    reader.read(json.dumps(items).encode())
    assert rows(reader, "entities", "entity", "position") == [("Q1", 0), ("Q3", 2)]
    assert rows(reader, "others", "entity") == [("Q2",)]
    assert (reader.refused, reader.counted()["records"]) == ([], 3)
    reader.start()
    reader.read(b'[{"type":"item","id":"Q1"},{"type":]')
    assert len(reader.refused) == 1


def test_what_cannot_be_read_is_refused_and_the_rest_is_kept() -> None:
    deep = '{"type":"item","id":"Q9","claims":{"P1":' + "[" * 100_000 + '},"sitelinks":{"enwiki":1}}'
    good = item("Q1")
    bad_value = item("Q3", claims={"P54": [claim({"entity-type": "item", "id": 5})]})
    reader = read(good, '{"type":"item","id":"Q2"', "{}", deep, bad_value, "5", good)
    assert rows(reader, "entities", "entity") == [("Q1",), ("Q1",)]
    assert rows(reader, "names", "entity") == []
    assert len(reader.refused) == 5
    assert reader.counted()["records"] == 7
    cut = json.dumps(item("Q4", page=None), separators=(",", ":"))[:-20]
    assert len(read(cut).refused) == 1


def test_invalid_utf8_is_refused() -> None:
    line = json.dumps(item("Q1", label="abc"), separators=(",", ":")).encode()
    reader = WikidataReader(WikidataSelection())
    reader.read(line.replace(b"abc", b"a\xff\xfec"))
    assert len(reader.refused) == 1


def test_real_entities(shared: Path) -> None:
    data = bz2.decompress((shared / "data/dumps/sample_wikidata_items.json.bz2").read_bytes())
    reader = WikidataReader(select(["en"]))
    reader.read(data)
    assert reader.counted()["items with a page"] == 100
    assert rows(reader, "entities", "entity", "label", "sitelinks", "title")[0] == (
        "Q31",
        "Belgium",
        319,
        "Belgium",
    )
    expected = []
    for line in data.splitlines()[1:-1]:
        entity = json.loads(line.rstrip(b","))
        for name, statements in entity["claims"].items():
            for statement in statements:
                value = statement["mainsnak"].get("datavalue")
                if value and value["type"] == "wikibase-entityid":
                    expected.append((entity["id"], name, value["value"]["id"], statement["rank"]))
    facts = rows(reader, "facts", "entity", "property", "value", "rank", "kind")
    assert [f[:4] for f in facts if f[4] == "entity"] == expected
    lines = WikidataReader(select(["en"]))
    lines.read(bz2.decompress((shared / "data/dumps/short_stream.json.bz2").read_bytes()))
    counts = lines.counted()
    assert (counts["items with a page"], counts["items without a page"]) == (55, 580)
