"""A page of our tables as a record of KILT's knowledge source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

UNNAMED = "unnamed"
"""In `pages.history` of a record that does not say which entity it is about; its title may say so later."""


def kilt_record(
    row: Mapping[str, Any], links: Iterable[Mapping[str, Any]], *, anchor_ids: bool = False
) -> dict[str, Any]:
    """One page as KILT writes it; `anchor_ids` adds the page id of every link that has one."""
    kept = msgspec.json.decode(row["history"]) if row.get("history") else {}
    number = row["page"].partition(":")[2]
    history = {"revid": row["revision"], "timestamp": row["timestamp"], **kept.get("history", {})}
    record: dict[str, Any] = {
        "_id": number,
        "wikipedia_id": number,
        "wikipedia_title": row["title"],
        "text": list(row["paragraphs"]),
        "anchors": _anchors(links, kept, anchor_ids),
        "categories": ",".join(row["categories"]),
        "history": {key: value for key, value in history.items() if value is not None},
    }
    if row["entity"]:
        record["wikidata_info"] = {"wikidata_id": row["entity"]}
    record |= kept.get("fields", {})
    for key in kept.get("absent", ()):
        record.pop(key, None)
    return record


def _anchors(
    links: Iterable[Mapping[str, Any]], kept: Mapping[str, Any], anchor_ids: bool
) -> list[dict[str, Any]]:
    own, result = kept.get("anchors", {}), []
    for n, link in enumerate(links):
        anchor = own.get(str(n)) or anchor_record(
            link["text"], quote(link["target"]), link["paragraph"], link["start"], link["end"]
        )
        if anchor_ids and link["target_page"] and not anchor.get("wikipedia_id"):
            anchor = {**anchor, "wikipedia_id": link["target_page"].partition(":")[2]}
        result.append(anchor)
    order = kept.get("order")
    if order:
        result = [
            anchor for _, anchor in sorted(zip(order, result, strict=True), key=lambda p: p[0])
        ]
    return result


def anchor_record(text: str, href: str, paragraph: int, start: int, end: int) -> dict[str, Any]:
    return {"text": text, "href": href, "paragraph_id": paragraph, "start": start, "end": end}
