"""KILT's knowledge source, `kilt_knowledgesource.json`: one page a line, to and from our tables.

What our columns do not hold is kept beside them in `pages.history`, so that a record that came from
KILT goes out as it came in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import msgspec
import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.knowledge.readers.part import Part
from whichone.knowledge.readers.wiki_site import Site, clean_title, is_disambiguation, site_for
from whichone.knowledge.tables import KIND, LINKS, PAGES
from whichone.records import page_id

_COMMA = re.compile(r",(?! )")  # "Chicago, Illinois" is one category
_ANCHOR = ("text", "href", "paragraph_id", "start", "end")


def read_part(
    data: bytes, *, source: str = "enwiki", language: str = "en", position: int = 0
) -> Part:
    """Rows of pages and links from whole lines; `position` is the place of the first of them."""
    part = Part(PAGES, LINKS)
    site = site_for(source, language)
    offset, first = 0, position
    for line in data.split(b"\n"):
        if line.strip():
            try:
                _add_record(part, msgspec.json.decode(line), site, position)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                part.refuse(offset, f"not a page of KILT's knowledge source: {error}")
            position += 1
        offset += len(line) + 1
    part.counts["records"] = part.counts["positions"] = position - first
    return part


def _add_record(part: Part, record: Mapping[str, Any], site: Site, position: int) -> None:
    if not isinstance(record, dict):
        raise ValueError("the line is no JSON object")
    number, title = record.get("wikipedia_id", record.get("_id")), record.get("wikipedia_title")
    paragraphs = record.get("text")
    if number is None or not isinstance(title, str) or not isinstance(paragraphs, list):
        raise ValueError("wikipedia_id, wikipedia_title or text is missing")
    history, about = record.get("history") or {}, record.get("wikidata_info") or {}
    anchors = record.get("anchors") or []
    order = sorted(range(len(anchors)), key=lambda i: _place(anchors[i]))
    links = [_link(anchors[i], page_id(site.name, number), site) for i in order]
    categories = _COMMA.split(record.get("categories") or "") if record.get("categories") else []
    listed = is_disambiguation(title, (), categories, site)
    row = {
        "page": page_id(site.name, number),
        "title": title,
        "entity": about.get("wikidata_id") or None,
        "kind": "disambiguation" if listed or _said_to_be_list(about) else "article",
        "paragraphs": [str(text) for text in paragraphs],
        "categories": categories,
        "revision": _integer(history.get("revid")),
        "timestamp": history.get("timestamp"),
        "position": position,
        "history": None,
    }
    row["history"] = _remainder(record, row, links, order)
    part.counts[f"{row['kind']} pages"] += 1
    part.counts["links"] += len(links)
    part.add("pages", row)
    for link in links:
        part.add("links", link)


def _said_to_be_list(about: Mapping[str, Any]) -> bool:
    return "disambiguation page" in str(about.get("description") or "")


def _integer(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else None


def _place(anchor: Mapping[str, Any]) -> tuple[int, int, int, str]:
    href = str(anchor.get("href") or "")
    return (*(int(anchor.get(key) or 0) for key in ("paragraph_id", "start", "end")), href)  # type: ignore[return-value]


def _link(anchor: Mapping[str, Any], page: str, site: Site) -> dict[str, Any]:
    paragraph, start, end, href = _place(anchor)
    return {
        "page": page,
        "paragraph": paragraph,
        "start": start,
        "end": end,
        "text": str(anchor.get("text") or ""),
        "target": clean_title(unquote(href).partition("#")[0], site),
        "target_page": page_id(site.name, anchor["wikipedia_id"])
        if anchor.get("wikipedia_id")
        else None,
    }


def _remainder(
    record: Mapping[str, Any],
    row: Mapping[str, Any],
    links: Sequence[Mapping[str, Any]],
    order: Sequence[int],
) -> str | None:
    """As JSON, what the columns alone would not give back; None when they would."""
    plain = kilt_record(row, links)
    anchors = record.get("anchors") or []
    kept: dict[str, Any] = {
        "fields": {k: v for k, v in record.items() if k != "anchors" and plain.get(k) != v},
        "absent": [k for k in plain if k not in record],
        "order": list(order) if list(order) != sorted(order) else [],
        "anchors": {
            str(n): anchors[i]
            for n, (i, made) in enumerate(zip(order, plain["anchors"], strict=True))
            if anchors[i] != made
        },
    }
    kept = {key: value for key, value in kept.items() if value}
    return msgspec.json.encode(kept).decode() if kept else None


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
    own, found = kept.get("anchors", {}), []
    for n, link in enumerate(links):
        values = (
            link["text"], quote(link["target"]), link["paragraph"], link["start"], link["end"],
        )  # fmt: skip
        anchor = own.get(str(n)) or dict(zip(_ANCHOR, values, strict=True))
        if anchor_ids and link["target_page"] and not anchor.get("wikipedia_id"):
            anchor = {**anchor, "wikipedia_id": link["target_page"].partition(":")[2]}
        found.append(anchor)
    order = kept.get("order")
    if order:
        found = [anchor for _, anchor in sorted(zip(order, found, strict=True), key=lambda p: p[0])]
    return found


def export_kilt(base: str | Path, *, anchor_ids: bool = True) -> Iterator[bytes]:
    """The pages of a knowledge base as lines of KILT's knowledge source, in order of page id.

    Pages and links lie sorted by page, so that both are read once, side by side.
    """
    folder = Folder.open(base, KIND)
    pages = _rows(folder.path("pages.parquet"))
    links = _rows(folder.path("links.parquet")) if folder.has("links.parquet") else iter(())
    grouped = groupby(links, key=lambda link: str(link["page"]))
    page, group = next(grouped, ("", iter(())))
    for row in pages:
        while page and page < row["page"]:
            page, group = next(grouped, ("", iter(())))
        own = list(group) if page == row["page"] else []
        yield msgspec.json.encode(kilt_record(row, own, anchor_ids=anchor_ids))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for batch in pq.ParquetFile(path).iter_batches(batch_size=1000):
        yield from batch.to_pylist()
