"""KILT's knowledge source: one JSON object a page, paragraphs with the title first, anchors with spans."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from whichone.world.markup import plain_text
from whichone.world.model import Article, Wiki

_encode = msgspec.json.Encoder().encode


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
    if article.item is not None:
        record["wikidata_info"] = _wikidata_info(article)
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
            anchors.append(
                {
                    "text": link.text,
                    "href": quote(link.target),
                    "paragraph_id": len(paragraphs),
                    "start": len(prefix) + link.start,
                    "end": len(prefix) + link.end,
                }
            )
        paragraphs.append(f"{prefix}{text}\n")
    return paragraphs, anchors


def _wikidata_info(article: Article) -> dict[str, Any]:
    item = article.item
    assert item is not None
    info: dict[str, Any] = {
        "wikidata_id": item.id,
        "wikidata_label": item.label,
        "wikipedia_title": article.title,
        "aliases": {"alias": list(item.aliases)},
    }
    if item.description:
        info["description"] = item.description
    return info
