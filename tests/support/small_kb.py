"""Knowledge bases for tests, written straight from dump records without the readers."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.names import name_key


def write_kb(
    path: Path,
    entities: Iterable[Mapping[str, Any]],
    pages: Iterable[Mapping[str, Any]],
    views: Mapping[str, int],
    *,
    links: Iterable[tuple[str, str]] = (),
    languages: Mapping[str, str] | None = None,
    anchors: Iterable[tuple[str, str, int]] = (),
) -> Path:
    """Wikidata records, KILT records and views by title as a knowledge base.

    `links` are pairs of page ids; `languages` those of entities whose names are not in English;
    `anchors` are texts of links with the entity they lead to and how often.
    """
    rows: dict[str, list[dict[str, Any]]] = {schema.name: [] for schema in knowledge_tables.ALL}
    for position, entity in enumerate(entities):
        _add_entity(rows, entity, position)
    for position, page in enumerate(pages):
        rows["pages"].append(
            {
                "page": f"enwiki:{page['wikipedia_id']}",
                "title": page["wikipedia_title"],
                "entity": page.get("wikidata_info", {}).get("wikidata_id"),
                "kind": page.get("kind", "article"),
                "paragraphs": page["text"],
                "categories": [],
                "position": position,
            }
        )
    rows["views"] = [
        {"title": title.replace("_", " "), "views": count, "source": "test"} for title, count in views.items()
    ]
    rows["links"] = [
        {"page": page, "paragraph": n, "start": 0, "end": 1, "text": "", "target": "", "target_page": t}
        for n, (page, t) in enumerate(links)
    ]
    for name, entity, count in anchors:
        rows["names"].append(
            {"entity": entity, "name": name, "key": name_key(name), "kind": "anchor", "count": count}
        )
    for row in rows["names"]:
        row["language"] = (languages or {}).get(row["entity"], "en")
    with Folder.create(path, knowledge_tables.KIND) as folder:
        for schema in knowledge_tables.ALL:
            folder.write(schema, schema.from_rows(rows[schema.name]))
        folder.commit(name="test")
    return path


def _add_entity(rows: dict[str, list[dict[str, Any]]], entity: Mapping[str, Any], n: int) -> None:
    labels = entity.get("labels", {})
    label = labels.get("en", {}).get("value")
    if entity["type"] == "property":
        rows["properties"].append({"property": entity["id"], "label": label, "datatype": "", "position": n})
        return
    types = []
    place = 0
    for prop, claims in entity.get("claims", {}).items():
        for claim in claims:
            given = claim["mainsnak"].get("datavalue")
            if claim["mainsnak"]["snaktype"] == "value" and given:
                fact = _fact(given)
                if prop == "P31":
                    types.append(fact["value"])
                rows["facts"].append(
                    {
                        "entity": entity["id"], "property": prop, "place": place,
                        "rank": claim.get("rank", "normal"), **fact,
                    }
                )  # fmt: skip
            place += 1
    sitelinks = entity.get("sitelinks", {})
    rows["entities"].append(
        {
            "entity": entity["id"], "label": label, "types": types, "position": n,
            "sitelinks": len(sitelinks), "title": sitelinks.get("enwiki", {}).get("title"),
            "source": "wikidata",
        }
    )  # fmt: skip
    names = [(0, "label", label)] if label is not None else []
    aliases = entity.get("aliases", {}).get("en", [])
    names += [(m, "alias", alias["value"]) for m, alias in enumerate(aliases, 1)]
    for m, kind, name in names:
        rows["names"].append(
            {
                "entity": entity["id"], "name": name, "key": name_key(name), "language": "en",
                "kind": kind, "count": 1, "place": m,
            }
        )  # fmt: skip


def _fact(given: Mapping[str, Any]) -> dict[str, Any]:
    value = given["value"]
    if given["type"] == "wikibase-entityid":
        return {"kind": "entity", "value": value["id"]}
    if given["type"] == "quantity":
        unit = None if value["unit"] == "1" else value["unit"].rpartition("/")[2]
        return {"kind": "quantity", "value": value["amount"], "unit": unit}
    return {"kind": "string", "value": str(value)}


def dump_records(wikidata: Path) -> list[dict[str, Any]]:
    lines = bz2.decompress(wikidata.read_bytes()).decode().splitlines()
    return [json.loads(line.rstrip(",")) for line in lines if len(line) > 2]


def page_records(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def view_counts(path: Path) -> dict[str, int]:
    rows = [line.split() for line in bz2.decompress(path.read_bytes()).decode().splitlines()]
    return {row[1]: int(row[2]) for row in rows if len(row) == 3 and row[0] == "en.z"}


def item(
    key: str,
    label: str | None,
    *,
    aliases: Iterable[str] = (),
    types: Iterable[str] = ("Q5",),
    title: str | None = None,
    ranks: Mapping[str, str] | None = None,
    **facts: str | int | list[str | int],
) -> dict[str, Any]:
    """A Wikidata record; facts by property, texts as item ids, numbers as quantities."""
    claims: dict[str, list[dict[str, Any]]] = {"P31": [_claim(t) for t in types]}
    for prop, values in facts.items():
        rank = (ranks or {}).get(prop, "normal")
        several = values if isinstance(values, list) else [values]
        claims[prop] = [{**_claim(value), "rank": rank} for value in several]
    return {
        "type": "item",
        "id": key,
        "labels": {"en": {"value": label}} if label is not None else {},
        "aliases": {"en": [{"value": alias} for alias in aliases]},
        "claims": claims,
        "sitelinks": {"enwiki": {"title": title}} if title is not None else {},
    }


def _claim(value: str | int) -> dict[str, Any]:
    if isinstance(value, int):
        given = {"type": "quantity", "value": {"amount": f"{value:+d}", "unit": "1"}}
    else:
        given = {"type": "wikibase-entityid", "value": {"id": value}}
    return {"mainsnak": {"snaktype": "value", "datavalue": given}}


def prop(key: str, label: str | None) -> dict[str, Any]:
    labels = {"en": {"value": label}} if label is not None else {}
    return {"type": "property", "id": key, "labels": labels}


def page(number: int, title: str, entity: str, text: str, kind: str = "article") -> dict[str, Any]:
    return {
        "wikipedia_id": str(number),
        "wikipedia_title": title,
        "text": [f"{title}\n", text],
        "wikidata_info": {"wikidata_id": entity},
        "kind": kind,
    }
