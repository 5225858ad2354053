"""One file a dump format: how an item, a page or a page's views look in it."""

import hashlib
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import msgspec
import numpy as np

from whichone.records import grouped
from whichone.world.source import Article, Item, ItemStatement, Property, Wiki, plain_text, wikitext

OPENING = b"[\n"
CLOSING = b"\n]\n"
BETWEEN = b",\n"

_DATATYPES = {"item": "wikibase-item", "somevalue": "wikibase-item"}  # of other kinds their own name
# Other wikis an invented item may have a page in; only their number matters (sitelink counts).
_OTHER_SITES = (
    "dewiki", "frwiki", "eswiki", "itwiki", "jawiki", "ruwiki", "ptwiki", "zhwiki", "plwiki",
    "nlwiki", "svwiki", "ukwiki", "viwiki", "arwiki", "fawiki", "cawiki", "fiwiki", "cswiki",
    "kowiki", "huwiki", "nowiki", "trwiki", "rowiki", "dawiki", "hewiki",
)  # fmt: skip
_STATED_AS = "P5997"  # "stated in reference as": a source given in words
_encode = msgspec.json.Encoder().encode


def item_json(item: Item, wiki: Wiki, page_id: int = 0) -> bytes:
    language = wiki.language
    aliases = [{"language": language, "value": alias} for alias in item.aliases]
    instance_of = (ItemStatement(property="P31", kind="item", value=t) for t in item.types)
    claims = grouped(
        (statement.property, _claim(item.id, n, statement))
        for n, statement in enumerate((*instance_of, *item.statements))
    )
    return _encode(
        {
            "type": "item",
            "id": item.id,
            "labels": _text(language, item.label),
            "descriptions": _text(language, item.description),
            "aliases": {language: aliases} if aliases else {},
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
    language = wiki.language
    return _encode(
        {
            "type": "property",
            "datatype": prop.datatype,
            "id": prop.id,
            "labels": _text(language, prop.label),
            "descriptions": _text(language, prop.description),
            "aliases": {},
            "claims": {},
            "title": f"Property:{prop.id}",
            "ns": 120,
            "modified": wiki.timestamp,
        }
    )


def _text(language: str, value: str) -> dict[str, dict[str, str]]:
    """A label or description by its language; empty where there is none."""
    return {language: {"language": language, "value": value}} if value else {}


def _sitelinks(item: Item, wiki: Wiki) -> dict[str, Any]:
    if item.title is None:
        return {}
    others = [site for site in _OTHER_SITES if site != wiki.site][: max(item.sitelinks - 1, 0)]
    return {site: {"site": site, "title": item.title, "badges": []} for site in sorted((wiki.site, *others))}


def _claim(item: str, n: int, statement: ItemStatement) -> dict[str, Any]:
    digest = hashlib.md5(f"{item} {n} {statement.value}".encode()).hexdigest().upper()
    guid = "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))
    claim: dict[str, Any] = {
        "mainsnak": _snak(statement.property, statement.kind, statement.value),
        "type": "statement",
        "id": f"{item}${guid}",
        "rank": statement.rank,
    }
    if statement.source:
        claim["references"] = [
            {
                "hash": hashlib.sha1(statement.source.encode()).hexdigest(),
                "snaks": {_STATED_AS: [_snak(_STATED_AS, "string", statement.source)]},
                "snaks-order": [_STATED_AS],
            }
        ]
    return claim


def _snak(prop: str, kind: str, value: str) -> dict[str, Any]:
    known = {} if kind == "somevalue" else {"datavalue": _datavalue(kind, value)}
    snaktype = "value" if known else "somevalue"
    return {"snaktype": snaktype, "property": prop, **known, "datatype": _DATATYPES.get(kind, kind)}


def _datavalue(kind: str, value: str) -> dict[str, Any]:
    if kind == "item":
        content = {"entity-type": "item", "numeric-id": int(value[1:]), "id": value}
        return {"value": content, "type": "wikibase-entityid"}
    if kind == "quantity":
        amount = value if value.startswith("-") else f"+{value}"
        return {"value": {"amount": amount, "unit": "1"}, "type": "quantity"}
    if kind == "time":
        content = {"time": f"+{value}T00:00:00Z", "timezone": 0, "before": 0, "after": 0, "precision": 11}
        calendar = {"calendarmodel": "http://www.wikidata.org/entity/Q1985727"}
        return {"value": content | calendar, "type": "time"}
    return {"value": value, "type": "string"}


def kilt_line(article: Article, page_id: int, revision: int, wiki: Wiki) -> bytes:
    """One page's line. Headings are `Section::::Outer:Inner.`, list items `BULLET::::- ...`."""
    paragraphs, anchors = _paragraphs(article)
    url = f"https://{wiki.language}.wikipedia.org/w/index.php?title={quote(article.title)}"
    record: dict[str, Any] = {
        "_id": str(page_id),
        "wikipedia_id": str(page_id),
        "wikipedia_title": article.title,
        "text": paragraphs,
        "anchors": anchors,
        "categories": ",".join(article.categories),
        "history": {
            "revid": revision,
            "timestamp": wiki.timestamp,
            "parentid": revision - 1,
            "pre_dump": True,
            "pageid": page_id,
            "url": f"{url}&oldid={revision}",
        },
    }
    if (item := article.item) is not None:
        record["wikidata_info"] = {
            "wikidata_id": item.id,
            "wikidata_label": item.label,
            "wikipedia_title": article.title,
            "aliases": {"alias": list(item.aliases)},
            **({"description": item.description} if item.description else {}),
        }
    return _encode(record) + b"\n"


def _paragraphs(article: Article) -> tuple[list[str], list[dict[str, Any]]]:
    paragraphs = [f"{article.title}\n"]
    anchors: list[dict[str, Any]] = []
    sections: list[str] = []
    for block in article.blocks:
        text, links = plain_text(block.text)
        if block.kind == "heading":
            sections = [*sections[: block.level - 2], text]
            paragraphs.append(f"Section::::{':'.join(sections)}.\n")
            continue
        prefix = "BULLET::::- " if block.kind == "bullet" else ""
        for link in links:
            start, end = len(prefix) + link.start, len(prefix) + link.end
            place = {"paragraph_id": len(paragraphs), "start": start, "end": end}
            anchors.append({"text": link.text, "href": quote(link.target), **place})
        paragraphs.append(f"{prefix}{text}\n")
    return paragraphs, anchors


MEDIAWIKI_CLOSING = b"</mediawiki>\n"

_ENGLISH = {
    -2: "Media", -1: "Special", 0: "", 1: "Talk", 2: "User", 3: "User talk", 4: "Wikipedia",
    5: "Wikipedia talk", 6: "File", 7: "File talk", 8: "MediaWiki", 9: "MediaWiki talk",
    10: "Template", 11: "Template talk", 12: "Help", 13: "Help talk", 14: "Category",
    15: "Category talk",
}  # fmt: skip
_GERMAN = {
    -2: "Medium", -1: "Spezial", 0: "", 1: "Diskussion", 2: "Benutzer", 3: "Benutzer Diskussion",
    4: "Wikipedia", 5: "Wikipedia Diskussion", 6: "Datei", 7: "Datei Diskussion", 8: "MediaWiki",
    9: "MediaWiki Diskussion", 10: "Vorlage", 11: "Vorlage Diskussion", 12: "Hilfe",
    13: "Hilfe Diskussion", 14: "Kategorie", 15: "Kategorie Diskussion",
}  # fmt: skip
_DISAMBIGUATION = {"de": "Begriffsklärung"}
_SCHEMA = "http://www.mediawiki.org/xml/export-0.10"


def opening(wiki: Wiki) -> bytes:
    rows = "".join(
        f'      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>\n" if name else " />\n")
        for key, name in _namespaces(wiki).items()
    )
    return (
        f'<mediawiki xmlns="{_SCHEMA}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{_SCHEMA}/ {_SCHEMA}.xsd" version="0.10" '
        f'xml:lang="{wiki.language}">\n'
        "  <siteinfo>\n"
        "    <sitename>Wikipedia</sitename>\n"
        f"    <dbname>{wiki.site}</dbname>\n"
        f"    <base>https://{wiki.language}.wikipedia.org/wiki/Main_Page</base>\n"
        "    <generator>MediaWiki 1.34.0</generator>\n"
        "    <case>first-letter</case>\n"
        f"    <namespaces>\n{rows}    </namespaces>\n"
        "  </siteinfo>\n"
    ).encode()


def page_xml(article: Article, page_id: int, revision: int, wiki: Wiki) -> bytes:
    return _page(article.title, page_id, revision, _wikitext(article, wiki), wiki)


def redirect_xml(title: str, target: str, page_id: int, revision: int, wiki: Wiki) -> bytes:
    text = f"#REDIRECT [[{target}]]\n\n{{{{R from alternative name}}}}"
    return _page(title, page_id, revision, text, wiki, redirect=target)


def _namespaces(wiki: Wiki) -> dict[int, str]:
    return _GERMAN if wiki.language == "de" else _ENGLISH


def _page(
    title: str, page_id: int, revision: int, text: str, wiki: Wiki, redirect: str | None = None
) -> bytes:
    content = text.encode()
    # the export's checksum: SHA-1 in base 36, 31 digits
    checksum = np.base_repr(int(hashlib.sha1(content).hexdigest(), 16), 36).lower().rjust(31, "0")
    mark = f"    <redirect title={quoteattr(redirect)} />\n" if redirect is not None else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>0</ns>\n    <id>{page_id}</id>\n"
        f"{mark}    <revision>\n      <id>{revision}</id>\n      <parentid>{revision - 1}</parentid>\n"
        f"      <timestamp>{wiki.timestamp}</timestamp>\n"
        '      <contributor deleted="deleted" />\n'
        "      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(content)}" xml:space="preserve">{escape(text)}</text>\n'
        f"      <sha1>{checksum}</sha1>\n    </revision>\n  </page>\n"
    ).encode()


def _wikitext(article: Article, wiki: Wiki) -> str:
    lines: list[str] = []
    if article.item is not None and article.item.description and not article.disambiguation:
        lines.append(f"{{{{Short description|{article.item.description}}}}}")
    previous = ""
    for block in article.blocks:
        if lines and not (block.kind == previous == "bullet"):
            lines.append("")
        lines.append(_block(block.kind, block.level, wikitext(block.text)))
        previous = block.kind
    if article.disambiguation:
        lines += ["", f"{{{{{_DISAMBIGUATION.get(wiki.language, 'disambiguation')}}}}}"]
    if article.categories:
        lines.append("")
        lines += (f"[[{_namespaces(wiki)[14]}:{name}]]" for name in article.categories)
    return "\n".join(lines)


def _block(kind: str, level: int, text: str) -> str:
    if kind == "heading":
        marks = "=" * level
        return f"{marks} {text} {marks}"
    return f"* {text}" if kind == "bullet" else text


HEADER = (
    b"# Wikimedia page requests (aka page views) for month 2019-10, pages with 5 views or more\n"
    b"# an invented file in the true format: the counts are not measurements\n"
)
FEWEST = 5  # The published file leaves out pages with fewer views in the month


def views_line(title: str, views: int, wiki: Wiki) -> bytes:
    """One page's line; empty for a page with too few views to be listed."""
    return b"" if views < FEWEST else f"{wiki.language}.z {title.replace(' ', '_')} {views}\n".encode()
