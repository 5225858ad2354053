"""The Wikidata JSON dump: an array with one entity a line, the last one without a comma."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from whichone.world.model import Item, Property, Statement, Wiki

OPENING = b"[\n"
CLOSING = b"\n]\n"
BETWEEN = b",\n"

_DATATYPES = {
    "item": "wikibase-item",
    "quantity": "quantity",
    "time": "time",
    "string": "string",
    "somevalue": "wikibase-item",
}
# Other wikis an invented item may have a page in; only their number matters (sitelink counts).
_OTHER_SITES = (
    "dewiki", "frwiki", "eswiki", "itwiki", "jawiki", "ruwiki", "ptwiki", "zhwiki", "plwiki",
    "nlwiki", "svwiki", "ukwiki", "viwiki", "arwiki", "fawiki", "cawiki", "fiwiki", "cswiki",
    "kowiki", "huwiki", "nowiki", "trwiki", "rowiki", "dawiki", "hewiki",
)  # fmt: skip
_STATED_AS = "P5997"  # "stated in reference as": a source given in words
_encode = msgspec.json.Encoder().encode


def item_json(item: Item, wiki: Wiki, page_id: int = 0) -> bytes:
    """One item's line, without its comma."""
    language = wiki.language
    claims: dict[str, list[dict[str, Any]]] = {}
    instance_of = (Statement(property="P31", kind="item", value=t) for t in item.types)
    for n, statement in enumerate((*instance_of, *item.statements)):
        claims.setdefault(statement.property, []).append(_claim(item.id, n, statement))
    return _encode(
        {
            "type": "item",
            "id": item.id,
            "labels": {language: _text(language, item.label)} if item.label else {},
            "descriptions": (
                {language: _text(language, item.description)} if item.description else {}
            ),
            "aliases": (
                {language: [_text(language, alias) for alias in item.aliases]}
                if item.aliases
                else {}
            ),
            "claims": claims,
            "sitelinks": _sitelinks(item, wiki),
            "pageid": 1_000_000_000 + page_id,
            "ns": 0,
            "title": item.id,
            "lastrevid": 1_200_000_000 + page_id,
            "modified": wiki.timestamp,
        }
    )


def property_json(prop: Property, wiki: Wiki) -> bytes:
    """One property's line, without its comma."""
    language = wiki.language
    return _encode(
        {
            "type": "property",
            "datatype": prop.datatype,
            "id": prop.id,
            "labels": {language: _text(language, prop.label)} if prop.label else {},
            "descriptions": (
                {language: _text(language, prop.description)} if prop.description else {}
            ),
            "aliases": {},
            "claims": {},
            "title": f"Property:{prop.id}",
            "ns": 120,
            "modified": wiki.timestamp,
        }
    )


def _text(language: str, value: str) -> dict[str, str]:
    return {"language": language, "value": value}


def _sitelinks(item: Item, wiki: Wiki) -> dict[str, Any]:
    if item.title is None:
        return {}
    others = [site for site in _OTHER_SITES if site != wiki.site][: max(item.sitelinks - 1, 0)]
    return {
        site: {"site": site, "title": item.title, "badges": []}
        for site in sorted((wiki.site, *others))
    }


def _claim(item: str, n: int, statement: Statement) -> dict[str, Any]:
    digest = hashlib.md5(f"{item} {n} {statement.value}".encode()).hexdigest().upper()
    guid = "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))
    claim: dict[str, Any] = {
        "mainsnak": _snak(statement.property, statement.kind, statement.value),
        "type": "statement",
        "id": f"{item}${guid}",
        "rank": statement.rank,
    }
    if statement.source:
        claim["references"] = [_reference(statement.source)]
    return claim


def _reference(source: str) -> dict[str, Any]:
    return {
        "hash": hashlib.sha1(source.encode()).hexdigest(),
        "snaks": {_STATED_AS: [_snak(_STATED_AS, "string", source)]},
        "snaks-order": [_STATED_AS],
    }


def _snak(prop: str, kind: str, value: str) -> dict[str, Any]:
    if kind == "somevalue":
        return {"snaktype": "somevalue", "property": prop, "datatype": _DATATYPES[kind]}
    return {
        "snaktype": "value",
        "property": prop,
        "datavalue": _datavalue(kind, value),
        "datatype": _DATATYPES[kind],
    }


def _datavalue(kind: str, value: str) -> dict[str, Any]:
    if kind == "item":
        content = {"entity-type": "item", "numeric-id": int(value[1:]), "id": value}
        return {"value": content, "type": "wikibase-entityid"}
    if kind == "quantity":
        amount = value if value.startswith("-") else f"+{value}"
        return {"value": {"amount": amount, "unit": "1"}, "type": "quantity"}
    if kind == "time":
        calendar = "http://www.wikidata.org/entity/Q1985727"
        content = {
            "time": f"+{value}T00:00:00Z",
            "timezone": 0,
            "before": 0,
            "after": 0,
            "precision": 11,
            "calendarmodel": calendar,
        }
        return {"value": content, "type": "time"}
    return {"value": value, "type": "string"}
